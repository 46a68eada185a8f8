"""What a model says is held to what it showed: checks of conclusions, trees and weights, each a pure function with its own test."""
