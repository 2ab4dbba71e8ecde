import type { Hono } from 'hono'
import type { Sender } from '../../hub/contract/hub'
import type { HubEnv } from '../../hub/http/page-entry'
import type { ToolAdminApi } from '../../mcp-servers/contract/tool-admin'
import type { FormProblem } from '../form/form-state'
import { type PageContext, page } from '../frame/send-page'
import { serverFields, type TypedServer, toServerInput } from './add-server-form'
import { handleAdminForm, readAdminPage, sendAdminPage } from './admin-page'
import { RemotePage } from './remote-page'

type Field = (name: string) => string

const path = '/tools/remote'

/** Registers the page `/tools/remote` and its forms. */
export function registerRemotePages(app: Hono<HubEnv>, toolAdmin: ToolAdminApi): void {
  const form = (
    end: string,
    submit: (field: Field, admin: Sender) => Promise<void>,
    toTypedFields: (field: Field) => TypedServer | null = () => null,
  ) =>
    app.post(
      `${path}${end}`,
      page((c) =>
        handleAdminForm(c, {
          async submit(field, admin) {
            await submit(field, admin)
            return `${path}#${field('server') || field('name')}`
          },
          showAgain: (rejection, field) =>
            show(c, toolAdmin, { ...rejection, typed: toTypedFields(field) }),
        }),
      ),
    )
  app.get(
    path,
    page((c) => show(c, toolAdmin, { status: 200, problem: null, typed: null })),
  )
  form(
    '',
    (field, admin) => toolAdmin.addRemoteServer(admin, toServerInput(toTyped(field))),
    toTyped,
  )
  form('/refresh', (field, admin) => toolAdmin.refreshRemoteServer(admin, field('server')))
  form('/remove', (field, admin) => toolAdmin.deleteRemoteServer(admin, field('server')))
  form('/accept', (field, admin) => toolAdmin.acceptRemoteTool(admin, toTool(field)))
  form('/instructions', (field, admin) => {
    const text = field('text') || null
    return toolAdmin.setRemoteInstructions(admin, { server: field('server'), text })
  })
  form('/map', (field, admin) => {
    // An empty grant hides the tool.
    const grant = field('grant').trim() || null
    const tier = grant === null ? null : field('tier')
    return toolAdmin.mapRemoteTool(admin, { ...toTool(field), grant, tier })
  })
}

interface Shown {
  status: number
  problem: FormProblem | null
  typed: TypedServer | null
}

async function show(
  c: PageContext,
  toolAdmin: ToolAdminApi,
  { status, problem, typed }: Shown,
): Promise<Response> {
  const { frame, answers } = await readAdminPage(c, {
    servers: toolAdmin.selectRemoteServers(),
    tools: toolAdmin.selectRemoteTools(),
  })
  return sendAdminPage(c, {
    frame,
    title: 'Remote MCP servers',
    tab: 'tools',
    status,
    body: <RemotePage {...answers} problem={problem} typed={typed} />,
  })
}

const toTool = (field: Field) => ({
  server: field('server'),
  tool: field('tool'),
  hash: field('hash'),
})

const toTyped = (field: Field): TypedServer =>
  Object.fromEntries(serverFields.map((name) => [name, field(name)])) as TypedServer
