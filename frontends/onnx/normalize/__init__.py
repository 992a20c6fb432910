"""What a model's nodes become before they are converted."""
