"""What came of a run, as typed results: of its judging, of judging it again, and of its instances together."""
