/** Fields of a chat completion's request that `model.extra` can't set, and what to do in their place. */
const own: Readonly<Record<string, string>> = {
  model: 'set model.name',
  messages: 'change the prompts: prompts.set',
  seed: 'set seed, the experiment’s: each call has a seed of its own that follows from it',
  n: 'set candidates',
  temperature: 'set model.temperature',
  top_p: 'set model.topP',
  max_tokens: 'set model.maxTokens',
  max_completion_tokens: 'set model.maxTokens',
  reasoning_effort: 'set model.reasoningEffort',
  response_format: 'set model.format',
};

const unreadable = 'take it out: the answer is read as one text, whole';

const answerForms = [
  ...[
    'stream',
    'stream_options',
    'modalities',
    'audio',
    'stop',
    'echo',
    'best_of',
    'logprobs',
    'top_logprobs',
  ],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call'],
];

const reserved: ReadonlyMap<string, string> = new Map([
  ...Object.entries(own),
  ...answerForms.map((field) => [field, unreadable] as const),
]);

/** What to do in the place of sending this field; undefined where it can be sent. */
export const remedyOfReserved = (field: string): string | undefined => reserved.get(field.toLowerCase());
