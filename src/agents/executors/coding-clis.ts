import type { Command, ExecutorAction, ExecutorType, RunContext } from './executor'
import { parseAider } from './parse-aider'
import { parseClaudeCode } from './parse-claude-code'
import { parseGoose } from './parse-goose'
import { parseOpencode } from './parse-opencode'

/** A coding program as data: how it is started without a terminal, and how its output is read. */
export interface CodingCli {
  type: Exclude<ExecutorType, 'native'>
  command(context: Pick<RunContext, 'systemPrompt' | 'task' | 'model'>): Command
  parseResponse(output: string): ExecutorAction
}

const optional = (flag: string, value: string | null): string[] =>
  value === null ? [] : [flag, value]

/** Without the provider, for programs that have one only or are told of it elsewhere. */
const bareModel = (model: string | null): string | null => model?.replace(/^[^/]+\//, '') ?? null

const joined = ({ systemPrompt, task }: Pick<RunContext, 'systemPrompt' | 'task'>): string =>
  `${systemPrompt}\n\n${task}`

export const codingClis: readonly CodingCli[] = [
  {
    type: 'claude-code',
    command: ({ systemPrompt, task, model }) => ({
      program: 'claude',
      args: [
        '--print',
        ...['--output-format', 'stream-json', '--verbose'],
        ...['--append-system-prompt', systemPrompt],
        ...optional('--model', bareModel(model)),
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
        ...['--no-session', '--output-format', 'json'],
        ...['--system', systemPrompt],
        ...optional('--model', bareModel(model)),
        ...['--instructions', '-'],
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
        ...['--yes-always', '--no-pretty', '--no-stream', '--no-check-update'],
        ...optional('--model', model),
        ...['--message-file', '/dev/stdin'],
      ],
      input: joined({ systemPrompt, task }),
    }),
    parseResponse: parseAider,
  },
  {
    type: 'opencode',
    command: ({ systemPrompt, task, model }) => ({
      program: 'opencode',
      args: ['run', ...['--format', 'json'], ...optional('--model', model)],
      input: joined({ systemPrompt, task }),
    }),
    parseResponse: parseOpencode,
  },
]
