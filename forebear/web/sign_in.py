"""From the token in an address to a cookie, and the page that asks for a token."""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from forebear.web.access import Access, same

PARAMETER = "token"

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto 0;padding:0 1.5rem;color:#1f2328;
background:#fff}
h1{font-size:1.4rem;margin:0 0 .5rem}label{display:block;margin:1.5rem 0 .3rem}
input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem .6rem;border:1px solid #6e7781;border-radius:6px;
background:transparent;color:inherit}
button{font:inherit;margin-top:.8rem;padding:.5rem 1rem;border:0;border-radius:6px;background:#0b5cad;color:#fff}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#14181d}}
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_ASK = (
    "<p>{why} Open the address that <code>forebear</code> printed when it started: it holds a token that lets you "
    'in.</p><form method="get" action=""><label for="token">Or paste the token here</label>'
    '<input id="token" name="token" type="password" autocomplete="off" required><button>Open</button></form>'
)


def token_of(scope: Scope) -> str | None:
    """The token in the address of a request, if there is one.

    >>> token_of({"query_string": b"token=abc"}), token_of({"query_string": b"a=1"})
    ('abc', None)
    """
    given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get(PARAMETER)
    return given[0] if given else None


def sign_in(access: Access, token: str, secure: bool) -> Response:
    """A cookie for the right token, and on to the same address without it; the page that asks for any other.

    A page goes on by itself and not by a redirect: after a link from elsewhere (a mail, a file) browsers would keep a
    strict cookie back on the way.
    """
    if not same(token, access.token):
        return ask("This token is not the right one.")
    response = _page("Opening", 200, more='<meta http-equiv="refresh" content="0;url=?">')
    response.set_cookie(access.cookie, access.session, httponly=True, samesite="strict", secure=secure, path="/")
    return response


def ask(why: str = "You are not signed in here.") -> Response:
    """The page for who comes without a token; nothing of it is the visitor's."""
    return _page("This page is private", 401, body=_ASK.format(why=why))


def _page(title: str, status: int, more: str = "", body: str = "") -> Response:
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{more}'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body><main><h1>{title}</h1>{body}</main></body></html>"
    )
    return HTMLResponse(page, status, headers={"content-security-policy": _POLICY})
