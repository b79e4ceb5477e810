import {
  type Answer,
  type FakeServer,
  type FaultPlan,
  type ReceivedRequest,
  startFakeServer,
} from './fake-server.js';

/** What a job goes through: one entry an inquiry, the last one for good. */
export interface Stage {
  readonly status: string;
  readonly events?: readonly { readonly message: string; readonly level?: string }[];
  readonly result?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

export interface UploadedFile {
  readonly id: string;
  readonly purpose: string;
  readonly rows: readonly unknown[];
}

/** A fine-tuning API of OpenAI's kind. Its `url` ends in `/v1`. */
export async function startFakeFineTuning(options: {
  readonly stages: readonly Stage[];
  readonly faults?: FaultPlan;
  /** Refuses every other key with 401, and says the key that it got. */
  readonly apiKey?: string;
  /** Refuses new jobs with 400 for this reason. */
  readonly refusesJobs?: string;
  readonly trainedTokens?: number;
}): Promise<FakeServer & { readonly files: readonly UploadedFile[]; readonly jobs: readonly object[] }> {
  const files: UploadedFile[] = [];
  const jobs: Record<string, unknown>[] = [];
  let stage = -1;
  let cancelled = false;
  const refuse = (status: number, message: string, code?: string): Answer => ({
    status,
    body: { error: { message, code } },
  });
  const job = () => {
    const { status, result, error } =
      options.stages[Math.max(0, Math.min(stage, options.stages.length - 1))]!;
    return {
      object: 'fine_tuning.job',
      id: 'ftjob-1',
      created_at: 1_700_000_000,
      ...jobs[0],
      status: cancelled ? 'cancelled' : status,
      fine_tuned_model: result ?? null,
      error: error ?? {},
      trained_tokens: result === undefined ? null : (options.trainedTokens ?? null),
    };
  };
  /** Latest first, as the API has them. */
  const events = () =>
    options.stages
      .slice(0, stage + 1)
      .flatMap(({ events: some }) => some ?? [])
      .map((event, i) => ({ id: `ftevent-${i}`, created_at: 1_700_000_000 + i, level: 'info', ...event }))
      .reverse();
  const answer = (request: ReceivedRequest): Answer => {
    const { authorization } = request.headers;
    if (options.apiKey !== undefined && authorization !== `Bearer ${options.apiKey}`)
      return refuse(401, `Incorrect API key provided: ${authorization?.slice(7)}`, 'invalid_api_key');
    const url = new URL(request.path, 'http://localhost');
    switch (`${request.method} ${url.pathname}`) {
      case 'POST /v1/files': {
        const id = `file-${files.length + 1}`;
        files.push({ id, ...uploadOf(request) });
        return { status: 200, body: { object: 'file', id, status: 'processed' } };
      }
      case 'POST /v1/fine_tuning/jobs':
        if (options.refusesJobs !== undefined) return refuse(400, options.refusesJobs);
        jobs.push(request.body);
        return { status: 200, body: job() };
      case 'GET /v1/fine_tuning/jobs':
        return {
          status: 200,
          body: { object: 'list', data: jobs.length > 0 ? [job()] : [], has_more: false },
        };
      case 'GET /v1/fine_tuning/jobs/ftjob-1':
        stage++;
        return { status: 200, body: job() };
      case 'GET /v1/fine_tuning/jobs/ftjob-1/events': {
        // Pages of two, so that following has to turn them.
        const all = events();
        const after = url.searchParams.get('after');
        const start = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
        const data = all.slice(start, start + 2);
        return { status: 200, body: { object: 'list', data, has_more: start + 2 < all.length } };
      }
      case 'POST /v1/fine_tuning/jobs/ftjob-1/cancel':
        cancelled = true;
        return { status: 200, body: job() };
      default:
        return refuse(404, `no such path: ${url.pathname}`);
    }
  };
  const server = await startFakeServer({ faults: options.faults, empty: {}, answer });
  return { ...server, url: `${server.url}/v1`, files, jobs };
}

/** The two fields of the form. */
function uploadOf({ headers, text }: ReceivedRequest): Omit<UploadedFile, 'id'> {
  const boundary = /boundary=(.+)$/.exec(headers['content-type'] ?? '')?.[1];
  const parts = text.split(`--${boundary}`).map((part) => part.split('\r\n\r\n'));
  const field = (name: string) => parts.find(([head]) => head?.includes(`name="${name}"`))?.[1]?.trim() ?? '';
  return {
    purpose: field('purpose'),
    rows: field('file')
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  };
}
