"""What instruction sets offer; no operator is known here."""
