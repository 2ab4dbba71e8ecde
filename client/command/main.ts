import { parseArgs } from 'node:util'
import { type ErrorDetail, HubError } from '../errors.ts'
import { type Command, CommandError, type ExitName, exitCodes, type Values } from './command.ts'
import { commands, commonOptions } from './commands.ts'
import { formatCommandHelp, formatHelp } from './help.ts'
import { createOutput } from './output.ts'
import { openHub } from './saved-login.ts'

/** Runs the command that the arguments name. Returns its exit code. */
export async function main(
  argv: string[],
  env: Record<string, string | undefined>,
): Promise<number> {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  const wantsJson = argv.includes('--json')
  const out = createOutput(process.stdout, process.stderr, wantsJson)
  try {
    return exitCodes[(await dispatch(argv, env, stop.signal)) ?? 'ok'].code
  } catch (error) {
    out.show(null)
    if (stop.signal.aborted) return exitCodes.interrupted.code
    const failure = toFailure(error)
    process.stderr.write(
      out.isJson
        ? `${JSON.stringify({ success: false, ...failure.json })}\n`
        : `${failure.lines.join('\n')}\n`,
    )
    return exitCodes[failure.exit].code
  }
}

async function dispatch(
  [name = '', ...rest]: string[],
  env: Record<string, string | undefined>,
  signal: AbortSignal,
): Promise<ExitName | undefined> {
  if (name === '' || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(`${formatHelp()}\n`)
    return name === '' ? 'usage' : undefined
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) {
    throw new CommandError('usage', `There is no command ${name}.`, 'See `rookery --help`.')
  }
  const { values, args } = parse(name, command, rest)
  if (values.help) {
    process.stdout.write(`${formatCommandHelp(name, command)}\n`)
    return undefined
  }
  const [least, most] = command.count
  if (args.length < least || args.length > most) {
    const usage = `Usage: rookery ${name} ${command.args}`.trimEnd()
    throw new CommandError('usage', usage, `See \`rookery ${name} --help\`.`)
  }
  const out = createOutput(process.stdout, process.stderr, values.json === true)
  return command.run({ hub: () => openHub(env), args, values, out, signal, env })
}

function parse(
  name: string,
  { options }: Command,
  rest: string[],
): { values: Values; args: string[] } {
  const specs = Object.entries({ ...options, ...commonOptions })
  try {
    const { values, positionals } = parseArgs({
      args: rest,
      options: Object.fromEntries(
        specs.map(([key, { type, short }]) => [key, { type, ...(short && { short }) }]),
      ),
      allowPositionals: true,
    })
    return { values: values as Values, args: positionals }
  } catch (error) {
    throw new CommandError('usage', (error as Error).message, `See \`rookery ${name} --help\`.`)
  }
}

interface Failure {
  exit: ExitName
  lines: string[]
  json: object
}

const listDetails = (details: ErrorDetail[]): string[] =>
  details.map((each) => `  ${each.path}: ${each.message}`)

function toFailure(error: unknown): Failure {
  if (error instanceof CommandError) {
    const { exit, message, hint, details } = error
    return {
      exit,
      lines: [message, ...(hint ? [hint] : []), ...listDetails(details)],
      json: {
        error: message,
        code: exit.toUpperCase(),
        hint,
        ...(details.length > 0 && { details }),
      },
    }
  }
  if (!(error instanceof HubError)) throw error
  const { code, message, hint, details } = error
  return {
    exit: findExit(error),
    lines: [[message, hint].filter(Boolean).join(' '), ...listDetails(details)],
    json: { error: message, code, hint, ...(details.length > 0 && { details }) },
  }
}

function findExit({ code, status }: HubError): ExitName {
  if (code === 'UNREACHABLE' || code === 'BAD_ANSWER') return 'unreachable'
  return status === 401 || status === 403 ? 'signedOut' : 'refused'
}
