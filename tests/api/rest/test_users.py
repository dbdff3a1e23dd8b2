"""Users and tokens in the REST interface, for administrators."""

from pathlib import Path

from tests.api.acting import site


async def test_administrators_list_users_with_roles_and_tokens_without_secrets(
    tmp_path: Path,
) -> None:
    async with site(tmp_path) as at, at.program("administrator") as program:
        listed = (await program.get("/api/v1/users")).json()
        roles = {each["username"]: each["role"] for each in listed["users"]}
        assert (roles["anna"], roles["ben"], roles["carl"]) == (
            "viewer",
            "operator",
            "administrator",
        )
        first = (await program.get("/api/v1/users?limit=1")).json()
        assert [each["username"] for each in first["users"]] == [first["next"]] == ["anna"]
        tokens = (await program.get("/api/v1/tokens")).json()
        assert [(each["name"], each["role"]) for each in tokens["tokens"]] == [
            (f"program-{role}", role) for role in ("viewer", "operator", "administrator")
        ]
        assert set(tokens["tokens"][0]) == {"name", "role", "made"}
        async with at.program("operator") as operator:
            for path in ("users", "tokens"):
                assert (await operator.get(f"/api/v1/{path}")).status_code == 403
