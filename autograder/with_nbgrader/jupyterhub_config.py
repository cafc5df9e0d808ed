"""JupyterHub for this course, on one machine.

Each person works as the system user with the same login name.
nbgrader_config.py in this folder says where the exchange is.
Start it in this folder, as root: jupyterhub -f jupyterhub_config.py
"""

from pathlib import Path

c = get_config()

# Only this machine can reach it. The world sees the web server
# in front of it, which has the certificate.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"

# Everyone with an account here. If others have accounts too, name
# the class instead: c.Authenticator.allowed_users = {...}
c.Authenticator.allow_all = True

# JupyterLab opens in each user's home directory.
c.Spawner.default_url = "/lab"
here = str(Path(__file__).parent)
c.Spawner.environment = {"JUPYTER_CONFIG_PATH": here}

# Servers start slowly when a whole class logs in at once.
c.Spawner.start_timeout = c.Spawner.http_timeout = 300
