"""The chance that a series passes a level by a day, from its history: walks, seasons, trends, volatility."""
