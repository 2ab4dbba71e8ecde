import { type Command, type CommandContext, CommandError, type ExitName } from './command.ts'
import {
  diffFiles,
  fetchDefinition,
  findAgentName,
  pullFolder,
  pushFolder,
  readDefinition,
} from './definition-folder.ts'
import { toColumns, toPlain } from './output.ts'
import { openPushed } from './saved-login.ts'

type Verb = (
  context: CommandContext,
  target: string,
  folder?: string,
) => Promise<ExitName | undefined>

const list: Verb = async ({ hub, out, signal }) => {
  const found = []
  for await (const agent of hub().list('GET /accounts', 'accounts', {
    query: { is_hosted: 'true' },
    signal,
  })) {
    found.push(agent)
  }
  const rows = found.map((each) => [
    `@${each.name}`,
    each.is_paused ? 'paused' : 'active',
    each.model ?? '',
    each.description.split('\n')[0] ?? '',
  ])
  out.print(found, rows.length > 0 ? toColumns(rows) : 'No agent runs on this hub.')
  return undefined
}

const toVersions = ({ hub, env, values }: CommandContext) => ({
  pushed: openPushed(env, hub()),
  isForced: values.force === true,
})

const pull: Verb = async (context, target, folder) => {
  const name = target.replace(/^@/, '')
  const to = folder ?? name
  const { version, files } = await pullFolder(context.hub(), name, to, toVersions(context))
  const paths = Object.keys(files).sort()
  const text = `${to} has version ${version} of ${name}: ${paths.join(', ')}.`
  context.out.print({ name, version, folder: to, files: paths }, text)
  return undefined
}

const push: Verb = async (context, folder) => {
  const { out, hub } = context
  const { name, warnings, held, error } = await pushFolder(hub(), folder, toVersions(context))
  if (error?.status === 409) {
    const force = context.values.force === true ? '' : ', or use --force'
    out.note(`Fetch the current version with \`agents pull ${name} <folder>\`${force}.`)
  }
  if (error) throw error
  for (const each of warnings) out.note(`${folder.replace(/(?<!\/)\/+$/, '')}/${each}`)
  out.print({ name, warnings, held }, held ?? `${name} is loaded.`)
  return undefined
}

const diff: Verb = async ({ hub, out }, folder) => {
  const files = readDefinition(folder)
  const name = findAgentName(folder, files)
  const lines = diffFiles((await fetchDefinition(hub(), name)).files, files)
  const same = `${folder} is what the hub has of ${name}.`
  out.print({ name, differs: lines.length > 0, lines }, lines.map(toPlain).join('\n') || same)
  return lines.length > 0 ? 'differs' : undefined
}

const verbs: Record<string, Verb> = { list, pull, push, diff }

export const agents: Command = {
  args: 'list | pull <name> [folder] | push <folder> | diff <folder>',
  says: 'Lists the agents of the hub, and moves their definitions between it and a folder',
  more: '`pull`, `push` and `diff` need the key of an admin. `diff` shows what `push` would change: `-` is on the hub, `+` in the folder. `push` replaces only the version that you pushed or pulled last, and shows the differences from any other.',
  options: {
    force: { type: 'boolean', says: 'Replace what somebody else saved, or changes in the folder' },
  },
  example: 'rookery agents push agents/scout',
  count: [1, 3],
  async run(context) {
    const [verb = '', target = '', folder] = context.args
    const act = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
    if (!act) throw new CommandError('usage', `There is no \`agents ${verb}\`.`)
    if (verb !== 'list' && target === '') {
      throw new CommandError('usage', `\`agents ${verb}\` needs a name or a folder.`)
    }
    return act(context, target, folder)
  },
}
