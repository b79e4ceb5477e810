import type { Frame, Point, Role, Shape } from '../frame.js';

/** Cards of a hand as they count, 1 for an ace, and their sum. */
export interface ShownHand {
  readonly cards: readonly number[];
  readonly sum: number;
}

const cardWidth = 1.1;
const cardHeight = 1.6;
/** Room for the cards of a hand; more than fit side by side overlap. */
const handWidth = 7;

/** The dealer's hand above the player's, each with its sum. @param hidden whether the dealer's second card lies face down */
export function drawBlackjack(dealer: ShownHand, player: ShownHand, hidden: boolean): Frame {
  return {
    view: { min: [0, 0], max: [11.5, 5] },
    shapes: [
      ...hand(dealer, 2.9, 'opponent', hidden),
      ...hand(player, 0.5, 'agent', false),
      label([1, 3.7], 0.4, 'dealer', 'opponent'),
      label([1, 1.3], 0.4, 'player', 'agent'),
    ],
  };
}

function hand({ cards, sum }: ShownHand, bottom: number, role: Role, hidden: boolean): readonly Shape[] {
  const step = Math.min(1.3, (handWidth - cardWidth) / Math.max(1, cards.length - 1));
  const shapes = cards.flatMap((value, i) => {
    const left = 2.3 + i * step;
    const text = hidden && i === 1 ? '?' : value === 1 ? 'A' : `${value}`;
    return card(left, bottom, text, role);
  });
  if (hidden) return shapes;
  return [...shapes, label([10.5, bottom + 0.8], 0.8, `${sum}`, sum > 21 ? 'danger' : role)];
}

function card(left: number, bottom: number, text: string, role: Role): readonly Shape[] {
  const [right, top] = [left + cardWidth, bottom + cardHeight];
  const outline: readonly Point[] = [
    [left, bottom],
    [right, bottom],
    [right, top],
    [left, top],
    [left, bottom],
  ];
  return [
    { kind: 'line', points: outline, width: 0.08, role },
    label([left + 0.4, bottom + cardHeight - 0.45], 0.55, text, role),
  ];
}

function label(centre: Point, height: number, text: string, role: Role): Shape {
  return { kind: 'text', centre, height, text, role };
}
