import type { RandomGenerator } from '../../random.js';
import type { DiscreteSpace, Observation, TupleSpace } from '../environment.js';
import type { Frame } from '../frame.js';
import type { OpenStep, Task } from '../task.js';
import { drawBlackjack } from './blackjack-drawing.js';

/** Ace to ten, then jack, queen and king; drawn with replacement. */
const deck = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10] as const;
const suits = ['clubs', 'diamonds', 'hearts', 'spades'] as const;
const faces = ['jack', 'queen', 'king'] as const;

/** What matters of some cards. */
interface Hand {
  /** As they count, an ace as 1. */
  readonly cards: readonly number[];
  /** Sum with every ace as 1. */
  readonly hardSum: number;
  readonly ace: boolean;
}

/**
 * Blackjack against a dealer who draws up to 17 (Sutton and Barto, example 5.1).
 * Observation: the player's sum, the dealer's open card (1 is an ace), whether the player has an ace that counts 11.
 * Action: 0 sticks, 1 hits.
 */
export class Blackjack implements Task<number> {
  readonly observationSpace: TupleSpace = {
    kind: 'tuple',
    spaces: [
      { kind: 'discrete', n: 32 },
      { kind: 'discrete', n: 11 },
      { kind: 'discrete', n: 2 },
    ],
  };
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: 2 };
  readonly #options: { readonly natural: boolean; readonly sab: boolean };
  #random!: RandomGenerator;
  #player: Hand = { cards: [], hardSum: 0, ace: false };
  #dealer: Hand = { cards: [], hardSum: 0, ace: false };
  #openCard = 0;
  /** Whether the dealer has shown the other card. */
  #shown = false;

  /** `sab`: the rules of Sutton and Barto's book, where a natural wins. `natural`: otherwise a natural that wins pays 1.5. */
  constructor(options: { readonly natural: boolean; readonly sab: boolean }) {
    this.#options = options;
  }

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    this.#shown = false;
    this.#openCard = random.choice(deck);
    this.#dealer = deal(this.#openCard, random.choice(deck));
    this.#player = deal(random.choice(deck), random.choice(deck));
    // Gymnasium draws how the open card looks when it is rendered; the stream must move on as much.
    random.choice(suits);
    if (this.#openCard === 10) random.choice(faces);
    return this.#observe();
  }

  step(action: number): OpenStep {
    if (action === 1) {
      this.#player = add(this.#player, this.#random.choice(deck));
      const bust = score(this.#player) === 0;
      return { observation: this.#observe(), reward: bust ? -1 : 0, terminated: bust, truncated: false };
    }
    this.#shown = true;
    while (sum(this.#dealer) < 17) this.#dealer = add(this.#dealer, this.#random.choice(deck));
    return { observation: this.#observe(), reward: this.#settle(), terminated: true, truncated: false };
  }

  frame(): Frame {
    const shown = (hand: Hand) => ({ cards: hand.cards, sum: sum(hand) });
    return drawBlackjack(shown(this.#dealer), shown(this.#player), !this.#shown);
  }

  #settle(): number {
    const difference = score(this.#player) - score(this.#dealer);
    if (isNatural(this.#player)) {
      if (this.#options.sab && !isNatural(this.#dealer)) return 1;
      if (!this.#options.sab && this.#options.natural && difference > 0) return 1.5;
    }
    return Math.sign(difference);
  }

  #observe(): number[] {
    return [sum(this.#player), this.#openCard, hasUsableAce(this.#player) ? 1 : 0];
  }
}

function deal(first: number, second: number): Hand {
  return { cards: [first, second], hardSum: first + second, ace: first === 1 || second === 1 };
}

function add(hand: Hand, card: number): Hand {
  return { cards: [...hand.cards, card], hardSum: hand.hardSum + card, ace: hand.ace || card === 1 };
}

function hasUsableAce(hand: Hand): boolean {
  return hand.ace && hand.hardSum + 10 <= 21;
}

function sum(hand: Hand): number {
  return hasUsableAce(hand) ? hand.hardSum + 10 : hand.hardSum;
}

/** The sum, or 0 for a bust. */
function score(hand: Hand): number {
  return sum(hand) > 21 ? 0 : sum(hand);
}

/** An ace and a ten on two cards. */
function isNatural(hand: Hand): boolean {
  return hand.cards.length === 2 && hand.ace && hand.hardSum === 11;
}
