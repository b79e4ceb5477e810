import OpenAI, { type ClientOptions } from 'openai';
import { z } from 'zod';
import { lowestLimit } from '../language-model.js';
import { jsonFetch } from './json-fetch.js';

const tokens = z.number().int().positive().optional().catch(undefined);

/** An entry of `/v1/models`: each server has its own name for the longest prompt and answer together. */
const entrySchema = z.object({
  id: z.string().catch(''),
  /** vLLM, SGLang */
  max_model_len: tokens,
  /** OpenRouter, Together */
  context_length: tokens,
  /** Groq */
  context_window: tokens,
  /** Mistral */
  max_context_length: tokens,
  /** OpenRouter: the provider that it prefers may take less than the model. */
  top_provider: z.object({ context_length: tokens }).nullish().catch(undefined),
  /** llama.cpp: what a slot holds, and what the model was trained with. */
  meta: z.object({ n_ctx: tokens, n_ctx_train: tokens }).nullish().catch(undefined),
});

const listSchema = z.object({ data: z.array(entrySchema) });
/** llama.cpp says here what a slot holds; earlier versions say it here alone. */
const propsSchema = z.object({ default_generation_settings: z.object({ n_ctx: tokens }) });

/** The list is only a convenience: a run doesn't wait for it. */
const patienceMs = 5_000;

/**
 * Tokens of prompt and answer together, as the server's list of models states them; undefined where it doesn't.
 * @throws the reason of the signal once it is aborted
 */
export async function servedContext(
  settings: ClientOptions,
  name: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const client = new OpenAI({ ...settings, fetch: jsonFetch });
  const timeout = AbortSignal.timeout(patienceMs);
  const asked = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const get = async <T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> => {
    try {
      return schema.safeParse(await client.get(path, { signal: asked })).data;
    } catch {
      signal?.throwIfAborted();
      return undefined;
    }
  };
  const version = /\/v\d/.exec(client.baseURL) === null ? '/v1' : '';
  const entries = (await get(`${version}/models`, listSchema))?.data ?? [];
  // A server of one model answers by any name.
  const entry = entries.find(({ id }) => id === name) ?? (entries.length === 1 ? entries[0] : undefined);
  if (entry === undefined) return undefined;
  const { meta, top_provider } = entry;
  const props =
    meta?.n_ctx_train !== undefined && meta.n_ctx === undefined
      ? await get(`${client.baseURL.replace(/\/v1$/, '')}/props`, propsSchema)
      : undefined;
  return lowestLimit(
    ...[entry.max_model_len, entry.context_length, entry.context_window, entry.max_context_length],
    ...[top_provider?.context_length, meta?.n_ctx, meta?.n_ctx_train],
    props?.default_generation_settings.n_ctx,
  );
}
