"""What a case changes in a cluster and of its candidate. Each part takes back what it has done."""
