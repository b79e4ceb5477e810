export function applyEdits(_parent: string, _reply: string): string { throw new Error('pending'); }
