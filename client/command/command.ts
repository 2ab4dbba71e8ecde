import type { HubClient } from '../client.ts'
import type { ErrorDetail } from '../errors.ts'
import type { Output } from './output.ts'

/** Exit codes of the command, by what they say. */
export const exitCodes = {
  ok: { code: 0, meaning: 'It worked.' },
  refused: { code: 1, meaning: 'The hub refused the call or failed; the message says why.' },
  usage: { code: 2, meaning: 'The command line is wrong, or a file cannot be read.' },
  unreachable: { code: 3, meaning: 'No hub answers at the address.' },
  signedOut: { code: 4, meaning: 'There is no key, or the hub does not accept it for this call.' },
  noAnswer: { code: 5, meaning: 'There is no answer yet: the time of `--wait` is up.' },
  ended: { code: 6, meaning: 'There will be no answer, or the run ended without a result.' },
  differs: { code: 7, meaning: '`agents diff` found a difference.' },
  worse: { code: 1, meaning: '`trial`: more cases are worse than allowed.' },
  notRun: { code: 2, meaning: '`trial`: the hub refused it, or a case could not run.' },
  interrupted: { code: 130, meaning: 'You stopped it with Ctrl-C.' },
} as const

export type ExitName = keyof typeof exitCodes

/** Ends the command with a message and an exit code. */
export class CommandError extends Error {
  readonly exit: ExitName
  readonly hint: string | null
  readonly details: ErrorDetail[]

  constructor(
    exit: ExitName,
    message: string,
    hint: string | null = null,
    details: ErrorDetail[] = [],
  ) {
    super(message)
    this.exit = exit
    this.hint = hint
    this.details = details
  }
}

/** An option of the command line. */
export interface OptionSpec {
  type: 'string' | 'boolean'
  short?: string
  /** What the value is, such as `seconds`. */
  value?: string
  says: string
}

export type Values = Record<string, string | boolean | undefined>

export interface CommandContext {
  /** The hub to call. @throws CommandError when there is no key */
  hub(): HubClient
  args: string[]
  values: Values
  out: Output
  signal: AbortSignal
  env: Record<string, string | undefined>
}

export interface Command {
  /** Its arguments, such as `<community> <title> [text | -]`. */
  args: string
  says: string
  /** Further sentences of its help. */
  more?: string
  options?: Record<string, OptionSpec>
  example: string
  /** Number of arguments: at least, at most. */
  count: [number, number]
  run(context: CommandContext): Promise<ExitName | undefined>
}

/** Returns the text of an option; undefined when it was not given. */
export const textOf = ({ values }: CommandContext, name: string): string | undefined => {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}
