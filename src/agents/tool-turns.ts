/** Conversations in which the model acts by calling a tool, as a chat template expects them. */
import type { Space } from '../environments/environment.js';
import type { ChatMessage, ToolDefinition } from '../models/language-model.js';
import { actTool, type Choice, calledIn } from './reading.js';

/** @param choices the possible actions if they are the same in every step */
export const toolOf = (space: Space, choices: readonly Choice[] | undefined): ToolDefinition => ({
  name: actTool,
  description: 'Takes an action in the environment and returns the next observation',
  parameters: {
    type: 'object',
    properties: { action: actionSchema(space, choices) },
    required: ['action'],
  },
});

function actionSchema(space: Space, choices: readonly Choice[] | undefined): object {
  const list = (type: string, length: number) => ({
    ...{ type: 'array', items: { type }, minItems: length, maxItems: length },
  });
  if (space.kind === 'box') return list('number', space.low.length);
  if (space.kind === 'tuple') return list('integer', space.spaces.length);
  return { type: 'string', ...(choices && { enum: choices.map(({ text }) => text) }) };
}

/** Turns calls in the text of earlier replies into tool calls, and the messages after them into tool results. */
export function withCalls(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  let toolCallId: string | undefined;
  return messages.map((message, i): ChatMessage => {
    if (message.role === 'user') {
      const answered = toolCallId;
      toolCallId = undefined;
      return answered === undefined
        ? message
        : { role: 'tool', content: message.content, toolCallId: answered };
    }
    const call = message.role === 'assistant' ? calledIn(message.content) : undefined;
    if (call === undefined) return message;
    // Mistral's templates require exactly nine letters and digits.
    toolCallId = String(i).padStart(9, '0');
    const called = { id: toolCallId, name: actTool, arguments: JSON.stringify(call.given) };
    return { role: 'assistant', content: call.before, toolCalls: [called] };
  });
}
