#!/usr/bin/env node
// Stands where aider stands: takes its options, asks the model once, and edits a file.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const names = ['model', 'message-file', 'chat-history-file', 'analytics-log']
const { values } = parseArgs({
  strict: false,
  options: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
})
const task = readFileSync(values['message-file'], 'utf8')
const response = await fetch(`${process.env.OPENAI_API_BASE}/chat/completions`, {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    authorization: `Bearer ${process.env.OPENAI_API_KEY}`,
  },
  body: JSON.stringify({ model: values.model.replace('openai/', ''), messages: [] }),
})
await response.text()
writeFileSync('aider.txt', task.split('\n')[0])
appendFileSync(
  values['chat-history-file'],
  `# aider chat started\n\n> Model: test\n\n#### ${task.replaceAll('\n', '\n#### ')}\n\nI fixed it.\n\n> Tokens: 1k sent\n`,
)
writeFileSync(values['analytics-log'], '{"event": "message_send", "properties": {}}\n')
