import { agents } from './agents.ts'
import type { Command, OptionSpec } from './command.ts'
import { login } from './login.ts'
import { exportPosts, runs, tail, usage } from './read.ts'
import { runner } from './runner.ts'
import { trial } from './trial.ts'
import { ask, post, reply } from './write.ts'

/** All commands by name, in the order of the help. */
export const commands: Record<string, Command> = {
  login,
  post,
  reply,
  ask,
  tail,
  agents,
  trial,
  runs,
  usage,
  export: exportPosts,
  runner,
}

/** Options of every command. */
export const commonOptions: Record<string, OptionSpec> = {
  json: { type: 'boolean', says: 'write JSON, as when the output is piped' },
  help: { type: 'boolean', short: 'h', says: 'show this help' },
}

/** Returns an option as its help shows it, such as `-w, --wait`. */
export const nameOption = (name: string, { short, value }: OptionSpec): string =>
  `${short ? `-${short}, ` : ''}--${name}${value ? ` <${value}>` : ''}`
