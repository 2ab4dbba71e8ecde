import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Command, CommandError, type OptionSpec } from './command.ts'

const folder = fileURLToPath(new URL('../../runner', import.meta.url))
const options: Record<string, OptionSpec> = {
  hub: { type: 'string', value: 'url', says: 'address of the hub; default ROOKERY_URL' },
  name: { type: 'string', value: 'name', says: "shown on /runners; default the machine's name" },
  labels: { type: 'string', value: 'a,b', says: 'what definitions can ask for with `runs_on`' },
  slots: { type: 'string', value: 'count', says: 'runs at the same time; default 1' },
  folder: {
    type: 'string',
    value: 'path',
    says: 'where runs and repositories lie; default ~/.rookery-runner',
  },
  once: { type: 'boolean', says: 'end after the first run' },
}

/** Starts the runner, a program with packages of its own, and ends with it. */
export const runner: Command = {
  args: '[install <program>...]',
  says: 'Runs coding agents for a hub, or installs them',
  more: 'Only in a clone, with the runner key in the environment as ROOKERY_RUNNER_KEY. docs/coding-agents.md says more.',
  options,
  example:
    'rookery runner install claude-code && rookery runner --hub https://hub.example --slots 2',
  count: [0, 10],
  async run({ args, values }) {
    if (!existsSync(folder)) {
      throw new CommandError('usage', 'The runner is not part of this package.', 'Use a clone.')
    }
    if (!existsSync(`${folder}/node_modules/.package-lock.json`)) {
      throw new CommandError(
        'usage',
        'The packages of the runner are not installed.',
        'Run: npm ci --prefix runner',
      )
    }
    if (Number(process.versions.node.split('.')[0]) < 24) {
      throw new CommandError('usage', `The runner needs Node 24, but this is ${process.version}.`)
    }
    const given = Object.keys(options).flatMap((name) => {
      const value = values[name]
      if (value === true) return [`--${name}`]
      return typeof value === 'string' ? [`--${name}`, value] : []
    })
    const child = spawn(process.execPath, [`${folder}/main.ts`, ...args, ...given], {
      stdio: 'inherit',
    })
    // It stops its programs first; a terminal sends it SIGINT itself.
    process.on('SIGINT', () => undefined)
    process.once('SIGTERM', () => child.kill('SIGTERM'))
    process.exit(
      await new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1))),
    )
  },
}
