/** A server that answers like OpenAI's chat completions: it moves the best parameters of the prompt a little. */
import { createServer } from 'node:http';

function answerTo(prompt, seed) {
  const evaluations = [...prompt.matchAll(/^(params\[0\]: .*); f\(params\): (\S+)$/gm)];
  const best = evaluations.reduce((a, b) => (Number(b[2]) > Number(a[2]) ? b : a));
  const values = best[1].match(/(?<=: )-?[\d.]+/g).map(Number);
  const moved = values.map((value, i) => value + 2 * Math.sin(seed + 7 * i)); // any number in [-2, 2]
  return JSON.stringify({
    params: moved.map((value) => Math.max(-6, Math.min(6, Number(value.toFixed(1))))),
  });
}

createServer(async (request, response) => {
  if (request.method !== 'POST') return response.writeHead(404).end(); // e.g. the question whether the server is there
  let body = '';
  for await (const chunk of request) body += chunk;
  const { messages, seed = 0 } = JSON.parse(body);
  const content = answerTo(messages.map((message) => message.content).join('\n'), seed % 1000);
  const usage = {
    prompt_tokens: Math.round(body.length / 4),
    completion_tokens: Math.round(content.length / 4),
  };
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage,
    }),
  );
}).listen(8765, '127.0.0.1');
