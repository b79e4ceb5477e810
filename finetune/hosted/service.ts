/** A fine-tuning API that is compatible with OpenAI's: files, jobs, events. */
import OpenAI from 'openai';
import { z } from 'zod';
import { redact } from '../../src/errors.js';
import { jsonFetch } from '../../src/models/hosted/json-fetch.js';
import type { OpenAIServer } from '../../src/models/hosted/openai-access.js';
import { callWithRetries, TryFailure, type Wait } from '../../src/models/hosted/retry.js';
import { ModelError } from '../../src/models/language-model.js';
import { printable, refusal, type Subject, subjects } from './refusal.js';
import type { HostedMethod } from './training-file.js';

/** What is asked of a server. Texts that it answers are free of control characters and keys. */
export interface FineTuningService {
  /** @returns the file's id */
  upload(name: string, content: Uint8Array<ArrayBuffer>): Promise<string>;
  create(request: JobRequest): Promise<HostedJob>;
  retrieve(id: string): Promise<HostedJob>;
  cancel(id: string): Promise<HostedJob>;
  /** Latest first. */
  list(limit: number): Promise<readonly HostedJob[]>;
  /** In the order of time, those that `known` doesn't hold. */
  eventsSince(id: string, known: ReadonlySet<string>): Promise<readonly JobEvent[]>;
}

export interface JobRequest {
  readonly model: string;
  readonly method: HostedMethod;
  readonly trainingFile: string;
  readonly validationFile: string | undefined;
  readonly epochs: number | undefined;
  readonly seed: number | undefined;
  readonly suffix: string | undefined;
}

const jobSchema = z.looseObject({
  id: z.string().regex(/^[\w.:-]{1,200}$/),
  status: z.string(),
  model: z.string().nullish(),
  fine_tuned_model: z.string().nullish(),
  created_at: z.number().nullish(),
  trained_tokens: z.number().nullish(),
  error: z.looseObject({ message: z.string().nullish(), code: z.string().nullish() }).nullish(),
});

export interface HostedJob {
  readonly id: string;
  /** As the server calls it: `queued`, `running`, … */
  readonly status: string;
  readonly model: string | undefined;
  /** Name of the result. */
  readonly result: string | undefined;
  /** Seconds since 1970. */
  readonly createdAt: number | undefined;
  readonly trainedTokens: number | undefined;
  readonly error: string | undefined;
}

const eventSchema = z.looseObject({
  id: z.string(),
  created_at: z.number().nullish(),
  level: z.string().nullish(),
  message: z.string().nullish(),
});

export interface JobEvent {
  readonly id: string;
  readonly level: string;
  readonly message: string;
}

export type JobPhase = 'going' | 'succeeded' | 'failed' | 'cancelled';

/** What a status means; one that isn't known counts as going on. */
export function phaseOf({ status }: HostedJob): JobPhase {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled' ? status : 'going';
}

/** Of one request, its retries included. */
const policy = { timeoutSeconds: 600, maxRetries: 4, maxRetryAfterSeconds: 60 } as const;

/** @throws UserError, from every call, for a refusal; ModelError when the server gave no usable answer */
export function openService(
  { baseUrl, secrets, settings }: OpenAIServer,
  keyName: string,
  wait: Wait,
  signal: AbortSignal,
): FineTuningService {
  const client = new OpenAI({ ...settings, fetch: formFetch });
  const address = `${baseUrl.origin}${baseUrl.pathname}`;
  const clean = (text: string) => printable(redact(text, secrets));

  const ask = async <T>(
    what: Subject,
    request: (options: { signal: AbortSignal }) => Promise<unknown>,
    schema: z.ZodType<T>,
    maxRetries: number = policy.maxRetries,
  ): Promise<T> => {
    try {
      const { value } = await callWithRetries({
        id: address,
        policy: { ...policy, maxRetries },
        wait,
        secrets,
        seed: 0,
        signal,
        attempt: async (attemptSignal) => {
          try {
            const parsed = schema.safeParse(await request({ signal: attemptSignal }));
            if (parsed.success) return parsed.data;
          } catch (error) {
            throw error instanceof OpenAI.APIConnectionError && error.cause instanceof TryFailure
              ? error.cause
              : error;
          }
          throw new TryFailure('malformed', `the answer is no ${what.noun}`);
        },
      });
      return value;
    } catch (error) {
      throw error instanceof ModelError ? refusal(error, what, keyName, clean) : error;
    }
  };
  const jobOf = (raw: z.output<typeof jobSchema>): HostedJob => ({
    id: raw.id,
    status: clean(raw.status),
    model: raw.model == null ? undefined : clean(raw.model),
    result: raw.fine_tuned_model ? clean(raw.fine_tuned_model) : undefined,
    createdAt: raw.created_at ?? undefined,
    trainedTokens: raw.trained_tokens ?? undefined,
    error: raw.error?.message
      ? clean([raw.error.code, raw.error.message].filter(Boolean).join(': '))
      : undefined,
  });
  const { jobs } = client.fineTuning;

  return {
    async upload(name, content) {
      const request = (options: { signal: AbortSignal }) =>
        client.files.create({ file: new File([content], name), purpose: 'fine-tune' }, options);
      return (await ask(subjects.file, request, z.looseObject({ id: z.string().min(1) }))).id;
    },
    async create(request) {
      // Not tried again: an answer that was lost may belong to a job that costs money.
      const created = await ask(
        subjects.newJob,
        (options) => jobs.create(bodyOf(request), options),
        jobSchema,
        0,
      );
      return jobOf(created);
    },
    retrieve: async (id) =>
      jobOf(await ask(subjects.job, (options) => jobs.retrieve(id, options), jobSchema)),
    cancel: async (id) => jobOf(await ask(subjects.job, (options) => jobs.cancel(id, options), jobSchema)),
    async list(limit) {
      const page = z.looseObject({ data: z.array(jobSchema) });
      const { data } = await ask(subjects.jobs, (options) => jobs.list({ limit }, options), page);
      return data.slice(0, limit).map(jobOf);
    },
    async eventsSince(id, known) {
      const page = z.looseObject({ data: z.array(eventSchema), has_more: z.boolean().nullish() });
      const found = new Map<string, JobEvent>();
      for (let after: string | undefined; ; ) {
        const query = { limit: 100, ...(after !== undefined && { after }) };
        const { data, has_more } = await ask(
          subjects.job,
          (options) => jobs.listEvents(id, query, options),
          page,
        );
        const fresh = data.filter((event) => !known.has(event.id) && !found.has(event.id));
        for (const { id: event, level, message } of fresh) {
          found.set(event, { id: event, level: clean(level ?? 'info'), message: clean(message ?? '') });
        }
        if (fresh.length < data.length || data.length === 0 || has_more !== true) break;
        after = data.at(-1)!.id;
      }
      return [...found.values()].reverse();
    },
  };
}

function bodyOf({ model, method, trainingFile, validationFile, epochs, seed, suffix }: JobRequest) {
  const hyperparameters = epochs === undefined ? {} : { n_epochs: epochs };
  return {
    model,
    training_file: trainingFile,
    ...(validationFile !== undefined && { validation_file: validationFile }),
    method:
      method === 'sft'
        ? { type: 'supervised' as const, supervised: { hyperparameters } }
        : { type: 'dpo' as const, dpo: { hyperparameters } },
    ...(seed !== undefined && { seed }),
    ...(suffix !== undefined && { suffix }),
  };
}

/** `jsonFetch` for bodies that are forms as well: it sends bytes, so the form is written out first. */
const formFetch: typeof fetch & { Response?: typeof Response } = async (input, init = {}) => {
  if (!(init.body instanceof FormData)) return jsonFetch(input, init);
  const form = new Response(init.body);
  const headers = new Headers(init.headers);
  headers.set('content-type', form.headers.get('content-type')!);
  const body = Buffer.from(await form.arrayBuffer());
  headers.set('content-length', String(body.length));
  return jsonFetch(input, { ...init, headers, body });
};
// By this the library learns that forms can be sent.
formFetch.Response = Response;
