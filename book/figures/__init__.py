"""What several pages need to draw their figures. A page finds it because it runs in this folder's parent."""
