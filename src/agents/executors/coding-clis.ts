import type { Command, ExecutorAction, ExecutorType, RunContext } from './executor'
import { parseAider } from './parse-aider'
import { parseClaudeCode } from './parse-claude-code'
import { parseGoose } from './parse-goose'
import { parseOpencode } from './parse-opencode'

/** A coding CLI: its command for running without a terminal, and the parser of its output. */
export interface CodingCli {
  type: Exclude<ExecutorType, 'native'>
  command(context: Pick<RunContext, 'systemPrompt' | 'task' | 'model'>): Command
  parseResponse(output: string): ExecutorAction
}

const toFlag = (flag: string, value: string | null): string[] =>
  value === null ? [] : [flag, value]

/** Removes the provider from a model, for CLIs with one provider or a separate provider setting. */
const removeProvider = (model: string | null): string | null =>
  model?.replace(/^[^/]+\//, '') ?? null

const joinPrompts = ({ systemPrompt, task }: Pick<RunContext, 'systemPrompt' | 'task'>): string =>
  `${systemPrompt}\n\n${task}`

/** All supported coding CLIs. */
export const codingClis: readonly CodingCli[] = [
  {
    type: 'claude-code',
    command: ({ systemPrompt, task, model }) => ({
      program: 'claude',
      args: [
        '--print',
        '--output-format',
        'stream-json',
        '--verbose',
        '--append-system-prompt',
        systemPrompt,
        ...toFlag('--model', removeProvider(model)),
      ],
      input: task,
    }),
    parseResponse: parseClaudeCode,
  },
  {
    type: 'goose',
    command: ({ systemPrompt, task, model }) => ({
      program: 'goose',
      args: [
        'run',
        '--no-session',
        '--output-format',
        'json',
        '--system',
        systemPrompt,
        ...toFlag('--model', removeProvider(model)),
        '--instructions',
        '-',
      ],
      input: task,
    }),
    parseResponse: parseGoose,
  },
  {
    type: 'aider',
    command: ({ systemPrompt, task, model }) => ({
      program: 'aider',
      args: [
        '--yes-always',
        '--no-pretty',
        '--no-stream',
        '--no-check-update',
        ...toFlag('--model', model),
        '--message-file',
        '/dev/stdin',
      ],
      input: joinPrompts({ systemPrompt, task }),
    }),
    parseResponse: parseAider,
  },
  {
    type: 'opencode',
    command: ({ systemPrompt, task, model }) => ({
      program: 'opencode',
      args: ['run', '--format', 'json', ...toFlag('--model', model)],
      input: joinPrompts({ systemPrompt, task }),
    }),
    parseResponse: parseOpencode,
  },
]
