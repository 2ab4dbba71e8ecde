import type { ModulePage, PageParts, PageProblem, PageRequest } from '../../hub/contract/hub'
import { AppError } from '../../shared/errors'
import { parse } from '../credentials/create-admin-routes'
import { readForm } from '../pages/read-form'
import { serverFields, type TypedServer, toServerBody } from './add-server-form'
import { RemotePage } from './remote-page'
import type { Remotes } from './remotes'
import { mapInput, newRemoteInput, toInput } from './routes'

interface RemotePageDeps {
  remotes: Remotes
  parts: PageParts
}

type Field = (name: string) => string
type Admin = Parameters<Remotes['refresh']>[1]

const path = '/tools/remote'

/** Creates the page `/tools/remote` and its forms. */
export function createRemotePages(deps: RemotePageDeps): ModulePage[] {
  const { remotes } = deps
  const form = (
    end: string,
    work: (field: Field, admin: Admin) => Promise<unknown>,
    toTyped: (field: Field) => TypedServer | null = () => null,
  ): ModulePage => ({
    method: 'post',
    access: 'admin',
    path: `${path}${end}`,
    async handle(ask) {
      const field = await readForm(ask.request)
      try {
        await work(field, ask.requireSender())
        return ask.redirect(`${path}#${field('server') || field('name')}`)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        const { status, message, hint } = deps.parts.toProblem(error)
        return show(deps, ask, { status, problem: { message, hint }, typed: toTyped(field) })
      }
    },
  })
  return [
    {
      method: 'get',
      access: 'admin',
      path,
      handle: (ask) => show(deps, ask, { status: 200, problem: null, typed: null }),
    },
    form('', (field, admin) => add(remotes, toTyped(field), admin), toTyped),
    form('/refresh', (field, admin) => remotes.refresh(field('server'), admin)),
    form('/remove', (field) => remotes.remove(field('server'))),
    form('/accept', (field, admin) =>
      remotes.accept(field('server'), [{ name: field('tool'), hash: field('hash') }], admin),
    ),
    form('/map', (field, admin) => map(remotes, field, admin)),
  ]
}

interface Shown {
  status: number
  problem: PageProblem | null
  typed: TypedServer | null
}

async function show(
  { remotes, parts }: RemotePageDeps,
  ask: PageRequest,
  { status, problem, typed }: Shown,
): Promise<Response> {
  const view = await ask.read(remotes.select())
  const servers = remotes.describe(view.answers)
  const body = <RemotePage parts={parts} servers={servers} problem={problem} typed={typed} />
  return view.render({ title: 'Remote MCP servers', tab: 'tools', status, body })
}

async function add(remotes: Remotes, typed: TypedServer, admin: Admin): Promise<void> {
  const { name, ...input } = parse(newRemoteInput, toServerBody(typed), 'body')
  await remotes.put(name, toInput(input), admin)
}

/** Sets grant and tier of a tool; an empty grant hides it. */
async function map(remotes: Remotes, field: Field, admin: Admin): Promise<void> {
  const given = field('grant').trim() || null
  const body = { grant: given, tier: given === null ? null : field('tier'), hash: field('hash') }
  const { grant, tier, hash = null } = parse(mapInput, body, 'body')
  await remotes.map(field('server'), { wireName: field('tool'), grant, tier, hash }, admin)
}

const toTyped = (field: Field): TypedServer =>
  Object.fromEntries(serverFields.map((name) => [name, field(name)])) as TypedServer
