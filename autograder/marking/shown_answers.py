"""The answers on the marking page, by ids that do not reveal the student.

In: answers. Out: ids, and the addresses of their pictures. Touches nothing.
"""

import hashlib
import hmac
import secrets
from urllib.parse import quote

from autograder.marking.answers import Answer


class ShownAnswers:
    """The answers that one marking session has shown, each as often as it has changed, and their pictures."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes()
        self._answers: dict[str, dict[str, Answer]] = {}  # id -> seen -> answer
        self._pictures: dict[str, tuple[str, str]] = {}  # id -> student, name

    def id_of(self, answer: Answer) -> str:
        """Return the id of ``answer`` on the page, which is the same for all answers of its student."""
        return self._hash(answer.student)[:16]

    def add(self, answer: Answer) -> dict[str, str]:
        """Remember ``answer`` as shown; return its id and the hash of what the marker sees, for the page."""
        self._answers.setdefault(self.id_of(answer), {})[answer.seen] = answer
        return {"id": self.id_of(answer), "seen": answer.seen}

    def find(self, answer_id: str, seen: str) -> Answer | None:
        """Return the answer that was shown with this id and this hash; None if none was."""
        return self._answers.get(answer_id, {}).get(seen)

    def add_pictures(self, answer: Answer, token: str) -> dict[str, str]:
        """Remember the pictures of ``answer`` as shown; return their addresses by name, which contain ``token``."""
        addresses = {}
        for name in answer.pictures:
            picture_id = self._hash(f"{answer.student}\0{name}")[:32]
            self._pictures[picture_id] = answer.student, name
            addresses[name] = f"pictures/{picture_id}?token={quote(token)}"
        return addresses

    def find_picture(self, picture_id: str) -> tuple[str, str] | None:
        """Return ``(student, name)`` of a picture that was shown; None for any other ``picture_id``."""
        return self._pictures.get(picture_id)

    def _hash(self, text):
        return hmac.new(self._key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
