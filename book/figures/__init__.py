"""What several pages need to draw their figures. A page can import it because it runs in this folder's parent."""
