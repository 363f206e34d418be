"""What an attacker can do, and that it comes to nothing: SECURITY.md says what is promised."""
