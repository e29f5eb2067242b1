"""
# Insertion sort

You hold cards in your hand, in order. You take one more, and look from the right for its place.
"""

from dataclasses import dataclass, field


@dataclass
class Hand:
    """
    ## A hand of cards

    Attributes:
        cards: What you hold, the smallest first.
        looked_at: How many cards were looked at so far.
    """

    cards: list[int] = field(default_factory=list)
    looked_at: int = 0

    def take(self, card: int) -> None:
        """Take a card.

        Args:
            card: The card, which goes to its place.
        """
        place = len(self.cards)
        while place > 0 and self.cards[place - 1] > card:
            # It is larger, so the new card goes further left.
            place -= 1
        self.looked_at += len(self.cards) - place
        self.cards.insert(place, card)

    @property
    def largest(self) -> int | None:
        """The card at the right end, if there is one."""
        return self.cards[-1] if self.cards else None

    @classmethod
    def of(cls, *cards: int) -> "Hand":
        """Take several cards."""
        hand = cls()
        for card in cards:
            hand.take(card)
        return hand


def sort(cards: list[int]) -> Hand:
    """Sort cards.

    Args:
        cards: In any order; the list stays as it is.

    Returns:
        The hand with all of them.
    """
    return Hand.of(*cards)


def example() -> list[Hand]:
    """
    ## Three hands
    """
    hands = [sort([5, 2, 4, 2, 1]), sort([1, 2, 3]), sort([])]
    print(*(hand.largest for hand in hands))
    return hands
