/** A game that is played by text commands: the worlds of this folder, and the files of TextWorld. */
export interface TextGame {
  /** Starts it anew. @returns the first text: the task, and what the player sees */
  start(): string;
  /** Does what the command says. One that is not admissible changes nothing. */
  step(command: string): TextTurn;
  /** What the player is told to do, as the first text says it; undefined where it is not known. */
  readonly objective?: string | undefined;
  /** What can be done now: sorted, each once; null where it is not known. */
  readonly admissible: readonly string[] | null;
  readonly score: number;
  /** The score of a game that is won; null where it is not known. */
  readonly maxScore: number | null;
  readonly won: boolean;
  readonly lost: boolean;
  /** Commands that were understood; null where it is not known. */
  readonly moves: number | null;
  /** Commands that win from the start on; undefined where none are known. */
  readonly gold: readonly string[] | undefined;
}

export interface TextTurn {
  /** The answer of the game. */
  readonly text: string;
  /** False for a command that is none of the admissible ones. */
  readonly understood: boolean;
}
