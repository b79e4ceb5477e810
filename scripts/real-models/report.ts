import type { ProposalFigures } from './figures.js';
export interface Row extends ProposalFigures {
  readonly with: string;
  readonly set: string;
  readonly task: string;
  readonly arm: string;
  readonly seed: number;
  readonly return?: number;
}
