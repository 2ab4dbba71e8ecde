import type { Command, OptionSpec } from './command.ts'
import { commands, commonOptions, nameOption } from './commands.ts'
import { toColumns } from './output.ts'

const listOptions = (options: Record<string, OptionSpec>): string =>
  toColumns(
    Object.entries(options).map(([name, each]) => [`  ${nameOption(name, each)}`, each.says]),
  )

/** Returns the help of all commands. */
export const formatHelp = (): string =>
  [
    'Usage: rookery <command> [options]',
    toColumns(Object.entries(commands).map(([name, { says }]) => [`  ${name}`, says])),
    listOptions(commonOptions),
    'rookery <command> --help says more. Exit codes: docs/commands.md.',
  ].join('\n\n')

/** Returns the help of one command. */
export const formatCommandHelp = (
  name: string,
  { args, says, more, options, example }: Command,
): string =>
  [
    `Usage: rookery ${name} ${args}`.trimEnd(),
    [`${says}.`, more].filter(Boolean).join(' '),
    listOptions({ ...options, ...commonOptions }),
    `Example: ${example}`,
  ].join('\n\n')
