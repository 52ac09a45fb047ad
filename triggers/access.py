"""Who may call what: the auth levels of the endpoint groups, and the management key that goes beside them.

Decorators need a level when a module is imported, so READ_AUTH_LEVEL is the one setting that is read then. A value that
is not allowed means the safer one; services/settings.py reports it.
"""

import hmac
import os

import azure.functions as func

from models.errors import NotAllowed

OPEN = func.AuthLevel.ANONYMOUS
READ = OPEN if os.environ.get("READ_AUTH_LEVEL", "").strip().lower() == "anonymous" else func.AuthLevel.FUNCTION
MANAGE = func.AuthLevel.FUNCTION


def require_management(req: func.HttpRequest, management_key: str) -> None:
    """Management takes this key besides the function key, since a host key opens every function. Unset: no check."""
    if not management_key:
        return
    given = req.headers.get("X-Management-Key", "")
    if not hmac.compare_digest(given.encode(), management_key.encode()):
        raise NotAllowed("X-Management-Key: the management key of this app is wanted in this header")
