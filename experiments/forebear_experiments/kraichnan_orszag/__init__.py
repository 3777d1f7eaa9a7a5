"""The Kraichnan-Orszag problem with noise."""
