import type { RandomGenerator } from '../../base/random/generator.js';
import type { DiscreteSpace, Observation, Task, TaskStep, TupleSpace } from '../environment.js';
import { type Frame, type Point, polyline, type Role, type Shape, text } from '../frame.js';

/** Ace to ten, then jack, queen and king; drawn with replacement. */
const deck = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10] as const;
const suits = ['clubs', 'diamonds', 'hearts', 'spades'] as const;
const faces = ['jack', 'queen', 'king'] as const;

interface Hand {
  /** Card values, with an ace as 1. */
  readonly cards: readonly number[];
  /** Sum with all aces as 1. */
  readonly hardSum: number;
  readonly hasAce: boolean;
}

/**
 * Blackjack against a dealer who hits below 17 (Sutton and Barto, example 5.1). Observation: the player's sum, the
 * dealer's face-up card (1 is an ace), and whether the player has an ace that counts as 11. Action: 0 sticks, 1 hits.
 */
export class Blackjack implements Task<number> {
  readonly observationSpace: TupleSpace = {
    kind: 'tuple',
    spaces: [32, 11, 2].map((n) => ({ kind: 'discrete', n })),
  };
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: 2 };
  readonly #options: { readonly natural: boolean; readonly sab: boolean };
  #random!: RandomGenerator;
  #player: Hand = { cards: [], hardSum: 0, hasAce: false };
  #dealer: Hand = { cards: [], hardSum: 0, hasAce: false };
  #openCard = 0;
  /** True once the dealer has revealed the other card. */
  #isDealerShown = false;

  /** With `sab`, the player's natural beats a 21 of more cards; with only `natural`, a winning natural pays 1.5. */
  constructor(options: { readonly natural: boolean; readonly sab: boolean }) {
    this.#options = options;
  }

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    this.#isDealerShown = false;
    this.#openCard = random.choice(deck);
    this.#dealer = deal(this.#openCard, random.choice(deck));
    this.#player = deal(random.choice(deck), random.choice(deck));
    // Gymnasium also draws a suit and a face for its picture; drawing them here keeps the random streams in sync.
    random.choice(suits);
    if (this.#openCard === 10) random.choice(faces);
    return this.#observe();
  }

  step(action: number): TaskStep {
    if (action === 1) {
      this.#player = addCard(this.#player, this.#random.choice(deck));
      const isBust = handScore(this.#player) === 0;
      return { observation: this.#observe(), reward: isBust ? -1 : 0, terminated: isBust };
    }
    this.#isDealerShown = true;
    while (handSum(this.#dealer) < 17) this.#dealer = addCard(this.#dealer, this.#random.choice(deck));
    return { observation: this.#observe(), reward: this.#settle(), terminated: true };
  }

  frame(): Frame {
    return {
      view: { min: [0, 0], max: [11.5, 5] },
      shapes: [
        ...drawHand(this.#dealer, 2.9, 'opponent', !this.#isDealerShown),
        ...drawHand(this.#player, 0.5, 'agent', false),
        text('dealer', [1, 3.7], 0.4, 'opponent'),
        text('player', [1, 1.3], 0.4, 'agent'),
      ],
    };
  }

  #settle(): number {
    const difference = handScore(this.#player) - handScore(this.#dealer);
    if (isNatural(this.#player)) {
      if (this.#options.sab && !isNatural(this.#dealer)) return 1;
      if (!this.#options.sab && this.#options.natural && difference > 0) return 1.5;
    }
    return Math.sign(difference);
  }

  #observe(): number[] {
    return [handSum(this.#player), this.#openCard, hasUsableAce(this.#player) ? 1 : 0];
  }
}

function deal(first: number, second: number): Hand {
  return { cards: [first, second], hardSum: first + second, hasAce: first === 1 || second === 1 };
}

function addCard(hand: Hand, card: number): Hand {
  return { cards: [...hand.cards, card], hardSum: hand.hardSum + card, hasAce: hand.hasAce || card === 1 };
}

const hasUsableAce = (hand: Hand): boolean => hand.hasAce && hand.hardSum + 10 <= 21;

const handSum = (hand: Hand): number => (hasUsableAce(hand) ? hand.hardSum + 10 : hand.hardSum);

/** Returns the sum, or 0 for a bust. */
const handScore = (hand: Hand): number => (handSum(hand) > 21 ? 0 : handSum(hand));

/** True for two cards, an ace and a card worth ten. */
const isNatural = (hand: Hand): boolean => hand.cards.length === 2 && hand.hasAce && hand.hardSum === 11;

const cardWidth = 1.1;
const cardHeight = 1.6;
/** Width available for a hand; cards that don't fit side by side overlap. */
const handWidth = 7;

/** @param hidden true if the second card is face down */
function drawHand(hand: Hand, bottom: number, role: Role, hidden: boolean): readonly Shape[] {
  const { cards } = hand;
  const spacing = Math.min(1.3, (handWidth - cardWidth) / Math.max(1, cards.length - 1));
  const shapes = cards.flatMap((value, i) => {
    const label = hidden && i === 1 ? '?' : value === 1 ? 'A' : `${value}`;
    return drawCard(2.3 + i * spacing, bottom, label, role);
  });
  if (hidden) return shapes;
  const total = handSum(hand);
  return [...shapes, text(`${total}`, [10.5, bottom + 0.8], 0.8, total > 21 ? 'danger' : role)];
}

function drawCard(left: number, bottom: number, label: string, role: Role): readonly Shape[] {
  const [right, top] = [left + cardWidth, bottom + cardHeight];
  const corner: Point = [left, bottom];
  const outline: readonly Point[] = [corner, [right, bottom], [right, top], [left, top], corner];
  return [polyline(outline, 0.08, role), text(label, [left + 0.4, bottom + cardHeight - 0.45], 0.55, role)];
}
