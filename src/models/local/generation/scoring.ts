/** Log-probabilities of given texts as answers: scores many after the same prompt at once. */
import { logProbability } from '../constraint/sampling.js';

interface ScoringRequest {
  /** Token ids of each text, at least one. */
  readonly texts: readonly (readonly number[])[];
  /** Logits after the last token of the prompt. */
  readonly first: Float32Array;
  readonly vocabulary: number;
  /**
   * Runs the model after the prompt on `rows` sequences of equal length.
   * @param logitsOf indices into the flattened [rows × tokens]
   * @returns their logits
   */
  run(ids: readonly number[], rows: number, logitsOf: readonly number[]): Promise<Float32Array>;
}

/** Maximum number of logits at a time (256 MB). */
const logitsAtOnce = 2 ** 26;

/** The log-probability of each token of each text. */
export async function scoreTexts(request: ScoringRequest): Promise<readonly (readonly number[])[]> {
  const { first, run, texts, vocabulary } = request;
  const scores = texts.map((ids) => [logProbability(first, ids[0]!)]);
  // Texts of similar length share a batch to minimise padding.
  const longer = [...texts.keys()]
    .filter((text) => texts[text]!.length > 1)
    .toSorted((a, b) => texts[a]!.length - texts[b]!.length);
  while (longer.length > 0) {
    const longest = texts[longer.at(-1)!]!.length - 1;
    const rows = longer.splice(-Math.max(1, Math.floor(logitsAtOnce / vocabulary / longest)));
    const padded = rows.flatMap((text) => {
      const read = texts[text]!.slice(0, -1);
      return [...read, ...Array<number>(longest - read.length).fill(read.at(-1)!)];
    });
    const places = rows.flatMap((text, row) =>
      Array.from({ length: texts[text]!.length - 1 }, (_, i) => row * longest + i),
    );
    const logits = await run(padded, rows.length, places);
    let place = 0;
    for (const text of rows)
      for (const id of texts[text]!.slice(1))
        scores[text]!.push(logProbability(logits.subarray(place * vocabulary, ++place * vocabulary), id));
  }
  return scores;
}
