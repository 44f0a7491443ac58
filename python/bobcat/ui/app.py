"""The application of `bobcat ui`, for Starlette: routes, sessions, and the answers to approvals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlencode

from bobcat.approvals.hook_calls import workspace_of
from bobcat.approvals.inbox import AnswerResult, Approvals
from bobcat.approvals.outlook import outlook
from bobcat.approvals.record import Approval
from bobcat.errors import ApprovalError, StoreError
from bobcat.logs import logger
from bobcat.pages.html import name, navigation, served_page, text
from bobcat.pages.style import STYLE
from bobcat.stores.protocol import DurableStore
from bobcat.ui import approval_pages, run_pages
from bobcat.ui.access import SESSION_SECONDS, Access, Session
from bobcat.ui.guarding import Origins, Refused, SafeHeaders, read_form
from bobcat.ui.words import approval_path

try:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, RedirectResponse, Response
    from starlette.routing import Route
    from starlette.types import ASGIApp
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("`bobcat ui` needs `pip install 'bobcat[serve]'`", name=error.name) from error

log = logger("ui")
STYLE_PATH = "/style.css"
REFRESH_SECONDS = 5
Parts: TypeAlias = Iterable[str]
Endpoint: TypeAlias = Callable[[Request, Session], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Settings:
    """`answers` permits answers to approvals; `cookie` is the name of the cookie; `store` is shown to people."""

    origins: Origins
    answers: bool = False
    cookie: str = "bobcat_ui"
    store: str = ""


def create_app(store: DurableStore, access: Access, settings: Settings) -> ASGIApp:
    """Build the application. The store is opened and closed by the caller, in the loop that serves."""
    pages = _Pages(store, access, settings)
    read, write = pages.signed_in, pages.answering
    routes = [
        Route("/", read(pages.home)),
        Route("/runs", read(pages.runs)),
        Route("/run", read(pages.run)),
        Route("/approvals", read(pages.approvals)),
        Route("/approvals/{id}", read(pages.approval)),
        Route("/approvals/{id}/{answer:str}", write(pages.answer), methods=["POST"]),
        Route("/leave", write(pages.leave), methods=["POST"]),
        Route("/enter", pages.plain(pages.enter), methods=["GET", "POST"]),
        Route(STYLE_PATH, pages.plain(pages.style)),
    ]
    return SafeHeaders(Starlette(routes=routes, exception_handlers={404: pages.missing, 405: pages.missing}))


class _Pages:
    def __init__(self, store: DurableStore, access: Access, settings: Settings) -> None:
        self._store = store
        self._access = access
        self._settings = settings

    # --- checks ---

    def plain(self, endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint behind the check of the host, with its refusals as pages."""

        async def handle(request: Request) -> Response:
            try:
                self._settings.origins.check_host(request.headers.get("host"))
                if request.method not in ("GET", "HEAD"):
                    self._settings.origins.check_origin(request.headers)
                return await endpoint(request)
            except Refused as refused:
                return self._page("Refused", [_alert(str(refused))], status=refused.status)
            except StoreError as error:
                problem = f"The store cannot be used ({error.code}): {error}"
                return self._page("Store unavailable", [_alert(problem)], status=503)
            except Exception:
                log.exception("a page could not be made")
                return self._page("Error", [_alert("The page could not be made; the log has the reason.")], status=500)

        return handle

    def signed_in(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint for people with a session; others get the form for a token."""

        async def handle(request: Request) -> Response:
            session = self._access.session(request.cookies.get(self._settings.cookie))
            return self._entry_form(401) if session is None else await endpoint(request, session)

        return self.plain(handle)

    def answering(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """As `signed_in`, for forms: the mark of the form must be that of this session and this address."""

        async def handle(request: Request, session: Session) -> Response:
            request.state.form = await read_form(request)
            if not session.accepts(request.scope["path"], request.state.form.get("mark", "")):
                raise Refused(403, "the form is not of this session; open its page again")
            return await endpoint(request, session)

        return self.signed_in(handle)

    # --- signing in ---

    async def enter(self, request: Request) -> Response:
        """Exchange a token for a session."""
        if request.method == "POST":
            token = (await read_form(request)).get("token", "")
        else:
            token = request.query_params.get("token", "")
        if not token:
            return self._entry_form(200)
        found = self._access.sign_in(token.strip())
        if found is None:
            return self._entry_form(403, _alert("That token is not accepted."))
        cookie, session = found
        # A page in between: a browser sends no strict cookie along a redirect that began on another site.
        parts = [f'<p>{_who(session)} <a href="/">Continue</a></p>']
        response = self._page("Signed in", parts, refresh="0; url=/")
        response.set_cookie(
            self._settings.cookie, cookie, max_age=SESSION_SECONDS, path="/", httponly=True, samesite="strict",
            secure=self._settings.origins.scheme == "https",
        )  # fmt: skip
        return response

    async def leave(self, request: Request, _: Session) -> Response:
        """End the session."""
        self._access.sign_out(request.cookies.get(self._settings.cookie))
        response = self._entry_form(200)
        response.delete_cookie(self._settings.cookie, path="/", httponly=True, samesite="strict")
        return response

    def _entry_form(self, status: int, *above: str) -> Response:
        form = (
            '<form method="post" action="/enter" class="card"><p><label>Token<br><input type="password" name="token" '
            'size="60" autocomplete="current-password" required></label></p><p><button>Sign in</button></p>'
            "<p class=quiet>The program that started this server has printed it.</p></form>"
        )
        return self._page("Sign in", [*above, form], status=status)

    async def style(self, _: Request) -> Response:
        """The style sheet."""
        return Response(STYLE, media_type="text/css")

    async def missing(self, _: Request, error: Exception) -> Response:
        """The page for an address without one."""
        return self._page("Not found", [_alert("There is no such page.")], status=getattr(error, "status_code", 404))

    # --- runs ---

    async def home(self, _: Request, __: Session) -> Response:
        """The first page."""
        return RedirectResponse("/runs", 303)

    async def runs(self, request: Request, session: Session) -> Response:
        """The list of runs."""
        fields = ("status", "tenant", "kind", "after")
        filters = run_pages.Filters(*(request.query_params.get(field, "") for field in fields))
        try:
            page = await run_pages.find_runs(self._store, filters)
        except ValueError as error:
            raise Refused(400, f"the address is not valid: {error}") from error
        parts = run_pages.runs_parts(page, filters, await self._store.now())
        return self._page("Runs", parts, request=request, session=session)

    async def run(self, request: Request, session: Session) -> Response:
        """One run."""
        run_id = request.query_params.get("id", "")
        found = await run_pages.find_run(self._store, run_id)
        if found is None:
            return self._page("Not found", [_alert("There is no such run in this store.")], session=session, status=404)
        parts = run_pages.run_parts(found, await self._store.now())
        return self._page(f"Run {run_id}", parts, request=request, session=session)

    # --- approvals ---

    async def approvals(self, request: Request, session: Session) -> Response:
        """The list of approvals."""
        given = request.query_params.get("status", "pending")
        chosen = next((status for status in approval_pages.STATUSES if status == given), None)
        if chosen is None:
            raise Refused(400, "the address is not valid: not a status of approvals")
        status = None if chosen == "all" else chosen
        found = await Approvals(self._store).list_all(status=status)  # type: ignore[arg-type]  # one of its words
        parts = approval_pages.list_parts(found, chosen, await self._store.now())
        return self._page("Approvals", parts, request=request, session=session)

    async def approval(self, request: Request, session: Session) -> Response:
        """One approval."""
        try:
            found = await Approvals(self._store).show(request.path_params["id"])
        except ApprovalError as error:
            return self._page("Not found", [_alert(str(error))], session=session, status=404)
        above = []
        if request.query_params.get("answered") and found.answers:
            words = f"{found.status} by {found.answers[-1].approver}" if found.status != "pending" else "one more grant"
            above = [f'<p class="notice" role="status">{text(words)}; {text(await outlook(self._store, found))}</p>']
        return await self._question(found, session, above, 200)

    async def _question(self, found: Approval, session: Session, above: list[str], status: int) -> Response:
        parts = approval_pages.question_parts(
            found, await workspace_of(self._store, found.run_id), await self._store.now(), session,
            answers=self._settings.answers,
        )  # fmt: skip
        return self._page(f"Approval of {found.tool}", [*above, *parts], session=session, status=status)

    async def answer(self, request: Request, session: Session) -> Response:
        """Grant or deny, with the checks of `Approvals`."""
        id, answer = request.path_params["id"], request.path_params["answer"]
        if answer not in ("grant", "deny"):
            raise Refused(404, "there is no such page")
        if not self._settings.answers or not session.holder.name:
            raise Refused(403, "answers are not permitted here")
        desk = Approvals(self._store)
        try:
            found = await desk.show(id)
        except ApprovalError as error:
            return self._page("Not found", [_alert(str(error))], session=session, status=404)
        form: Mapping[str, str] = request.state.form
        if form.get("digest") != found.digest:
            changed = _alert("The question is another one now: read it again.")
            return await self._question(found, session, [changed], 409)
        try:
            await self._given(desk, found, answer == "grant", form, session.holder.name)
        except ApprovalError as error:
            problem = _alert(f"Your answer does not count: {error} ({error.code})")
            return await self._question(await desk.show(id), session, [problem], 409)
        return RedirectResponse(f"{approval_path(id)}?answered=1", 303)

    async def _given(
        self, desk: Approvals, found: Approval, granted: bool, form: Mapping[str, str], who: str
    ) -> AnswerResult:
        reason = form.get("reason", "")
        if len(reason) > approval_pages.MAX_REASON:
            raise Refused(413, f"a reason has at most {approval_pages.MAX_REASON} characters")
        if granted:
            return await desk.grant(found.id, approver=who, reason=reason, uncertain=form.get("uncertain") == "yes")
        return await desk.deny(found.id, approver=who, reason=reason)

    # --- the frame ---

    def _page(
        self,
        title: str,
        parts: Parts,
        *,
        request: Request | None = None,
        session: Session | None = None,
        status: int = 200,
        refresh: str = "",
    ) -> HTMLResponse:
        links, below = "", []
        if session is not None:
            links = navigation("Pages", {"/runs": "Runs", "/approvals": "Pending approvals"}, self._leaving(session))
            below = [f"<p class=quiet>{_who(session)} Store {name(self._settings.store)}.</p>"]
        if request is not None:
            again = request.query_params.get("refresh") == "yes"
            refresh = str(REFRESH_SECONDS) if again else ""
            fields = {key: value for key, value in request.query_params.items() if key != "refresh"}
            fields |= {} if again else {"refresh": "yes"}
            address = request.scope["raw_path"].decode("ascii") + (f"?{urlencode(fields)}" if fields else "")
            words = "Stop reloading" if again else f"Reload every {REFRESH_SECONDS} s"
            below.append(f'<p><a href="{text(address)}">{words}</a></p>')
        page = served_page(title, [*parts, *below], links=links, style=STYLE_PATH, refresh=refresh)
        return HTMLResponse(page.encode("utf-8", "backslashreplace"), status)

    def _leaving(self, session: Session) -> str:
        mark = session.mark("/leave")
        return (
            f'<li><form method="post" action="/leave"><input type="hidden" name="mark" value="{mark}">'
            "<button>Sign out</button></form></li>"
        )


def _alert(problem: str) -> str:
    return f'<p class="notice" role="alert">{text(problem)}</p>'


def _who(session: Session) -> str:
    return f"Signed in as {name(session.holder.name)}." if session.holder.name else "Signed in to read."
