import { expect, it } from 'vitest';
import { genericAgent } from '../../src/agents/agent.js';
import { openAgent } from '../../src/agents/prompts/prompted-agent.js';
import { listedChoices } from '../../src/agents/reading.js';
import { toolOf, withCalls } from '../../src/agents/tool-turns.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { referenceDirectory } from '../models/local/fixture.js';
import { played } from '../play/playing.js';
import { createScriptedModel } from '../support/scripted-model.js';

const json = (action: string) => `{"name": "act", "arguments": {"action": "${action}"}}`;
const call = (action: string) => `<tool_call>\n${json(action)}\n</tool_call>`;

const conversation: readonly ChatMessage[] = [
  { role: 'system', content: 'Play.' },
  { role: 'user', content: 'Your sum: 11.' },
  { role: 'assistant', content: `Another card.\n${json('hit')}` },
  { role: 'user', content: 'Your sum: 15.' },
  { role: 'assistant', content: 'I am not sure.' },
  { role: 'user', content: 'That names no action.' },
  { role: 'assistant', content: `[${json('stick')}]` },
  { role: 'user', content: 'Your sum: 15.' },
];

it('tool calls in earlier replies become structured calls, and the messages after them their results', () => {
  expect(withCalls(conversation)).toEqual([
    ...conversation.slice(0, 2),
    {
      role: 'assistant',
      content: 'Another card.',
      toolCalls: [{ id: '000000002', name: 'act', arguments: '{"action":"hit"}' }],
    },
    { role: 'tool', content: 'Your sum: 15.', toolCallId: '000000002' },
    ...conversation.slice(4, 6),
    {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: '000000006', name: 'act', arguments: '{"action":"stick"}' }],
    },
    { role: 'tool', content: 'Your sum: 15.', toolCallId: '000000006' },
  ]);
});

it('encodeNext gives the same tokens as the chat template for the next turn', () => {
  const tokenizer = openTokenizer(referenceDirectory('qwen3-fp32'));
  const tools = [
    toolOf({ kind: 'discrete', n: 2 }, listedChoices({ kind: 'discrete', n: 2 }, ['stick', 'hit'])),
  ];
  const messages = withCalls(conversation);
  for (const end of [4, 6, 8]) {
    const whole = tokenizer.encodePrompt(messages.slice(0, end), tools);
    const next = tokenizer.encodeNext(messages.slice(0, end));
    expect(whole.slice(-next.length)).toEqual(next);
    expect(tokenizer.decode(next)).toContain(messages[end - 1]!.content);
  }
});

it('the tool lists fixed actions, describes vectors, and accepts any string for changing commands', async () => {
  const parameters = async (id: string) => {
    const environment = await makeEnvironment(id);
    return genericAgent(environment, 'tool').tools?.[0]?.parameters;
  };
  const action = (schema: object) => expect.objectContaining({ properties: { action: schema } });
  expect(await parameters('Blackjack-v1')).toEqual(action({ type: 'string', enum: ['0', '1'] }));
  expect(await parameters('Pendulum-v1')).toEqual(
    action({ type: 'array', items: { type: 'number' }, minItems: 1, maxItems: 1 }),
  );
  expect(await parameters('text:cooking')).toEqual(action({ type: 'string' }));
});

it('prompts ask for the tool call, and agents that read JSON have no tool', async () => {
  const given = {
    environment: await makeEnvironment('Blackjack-v1'),
    ...{ options: {}, maxSteps: 10, field: 'policy.prompts' },
  };
  const agent = openAgent({ ...given, reading: 'tool' });
  expect(agent.systemPrompt()).toMatch(/Call the tool act with your action, one of: stick, hit\.$/);
  expect(agent.tools?.[0]?.parameters).toMatchObject({ properties: { action: { enum: ['stick', 'hit'] } } });
  expect(openAgent({ ...given, reading: 'json' }).tools).toBeUndefined();
});

it('a play sends the tool and its results to the model, and records calls as text', async () => {
  const local = { ...createScriptedModel(() => call('hit')), scoresTexts: true as const };
  const { games, calls } = await played('agents/blackjack', ['policy.act=tool', 'episodes=3'], local);
  expect(games.every(({ turns }) => turns.every(({ words }) => words === 'hit'))).toBe(true);
  expect(local.calls.every(({ options }) => options.tools?.[0]?.name === 'act')).toBe(true);
  const later = local.calls.find(({ messages }) => messages.length > 2)!;
  expect(later.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
  const recorded = calls.find(({ messages }) => messages.length > 2)!;
  expect(recorded.messages[2]!.content).toBe(json('hit'));
});

it('acting by tool calls is refused for a hosted model', async () => {
  await expect(
    played('agents/blackjack', ['policy.act=tool'], createScriptedModel([call('hit')])),
  ).rejects.toThrow(/can't act by tool calls, which only local models support/);
});
