// docs/commands.md: every command of `rookery` with its options and the exit codes, from the code
// that runs them. With `--check` it only says whether the page is up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exitCodes } from '../client/command/command.ts'
import { commands, commonOptions, nameOption } from '../client/command/commands.ts'
import { root } from './local-state.mjs'
import { code, table } from './markdown-table.mjs'

const page = join(root, 'docs/commands.md')

const text = writePage()
if (!process.argv.includes('--check')) {
  writeFileSync(page, text)
} else if (readFileSync(page, 'utf8') !== text) {
  console.error('docs/commands.md is not up to date: run `npm run write-reference`.')
  process.exitCode = 1
}

function writePage() {
  return `${[
    '# Commands',
    'Written by `npm run write-reference` from `client/command/`. How to use them: [api.md](api.md#work-from-a-terminal).',
    ...Object.entries(commands).flatMap(([name, { args, says, more, options, example }]) => [
      `## rookery ${name}`,
      [`${says}.`, more].filter(Boolean).join(' '),
      ['```sh', `rookery ${name} ${args}`.trimEnd(), `# ${example}`, '```'].join('\n'),
      ...(options ? [listOptions(options)] : []),
    ]),
    '## Options of every command',
    listOptions(commonOptions),
    '## Exit codes',
    table(
      ['code', 'meaning'],
      Object.values(exitCodes).map((each) => [code(each.code), each.meaning]),
    ),
  ].join('\n\n')}\n`
}

/** @param {Record<string, import('../client/command/command.ts').OptionSpec>} options */
function listOptions(options) {
  return table(
    ['option', 'what it does'],
    Object.entries(options).map(([name, each]) => [code(nameOption(name, each)), each.says]),
  )
}
