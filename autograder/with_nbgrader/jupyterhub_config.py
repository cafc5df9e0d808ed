"""JupyterHub for this course, on one machine.

Who logs in works as the user of the system who is called so.
Where the exchange is, nbgrader_config.py in this folder says.
Start it there, as root: jupyterhub -f jupyterhub_config.py
"""

from pathlib import Path

c = get_config()

# Only this machine reaches it. What the world sees is the web
# server in front of it, which has the certificate.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"

# Everyone with an account here. If others have accounts too, name
# the class instead: c.Authenticator.allowed_users = {...}
c.Authenticator.allow_all = True

# JupyterLab in the home directory of each
c.Spawner.default_url = "/lab"
here = str(Path(__file__).parent)
c.Spawner.environment = {"JUPYTER_CONFIG_PATH": here}

# A class that logs in at once keeps the machine busy.
c.Spawner.start_timeout = c.Spawner.http_timeout = 300
