"""What research makes of a decoder: data sets, labels, interventions, hidden models, training, softness."""
