import type { KeyValueCache, LayerStates } from '../../../src/models/local/engine/key-value-cache.js';
import type { DecoderSession } from '../../../src/models/local/engine/runtime.js';

/** Prefills in chunks; the logits after the last token. */
export async function prefill(
  session: DecoderSession,
  ids: readonly number[],
  chunk: number,
  cache: KeyValueCache,
  own: KeyValueCache,
  sequenceTokens?: number,
): Promise<{ logits: Float32Array; states: LayerStates }> {
  let logits = new Float32Array();
  let states: LayerStates = [];
  for (let start = 0; start < ids.length; start += chunk) {
    const part = ids.slice(start, start + chunk);
    const last = start + chunk >= ids.length;
    const output = await session.forward({
      ids: part,
      rows: 1,
      position: start,
      promptCache: cache,
      ownCache: own,
      states,
      ...(sequenceTokens !== undefined && { sequenceTokens }),
      logitIndices: last ? [part.length - 1] : [],
    });
    cache.append(output.entries);
    states = output.states;
    logits = Float32Array.from(output.logits);
  }
  return { logits, states };
}
