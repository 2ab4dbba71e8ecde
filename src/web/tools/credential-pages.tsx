import type { Hono } from 'hono'
import type { Sender } from '../../hub/contract/hub'
import type { HubEnv } from '../../hub/http/page-entry'
import type { ToolAdminApi } from '../../mcp-servers/contract/tool-admin'
import type { FormProblem } from '../form/form-state'
import { type PageContext, page } from '../frame/send-page'
import { handleAdminForm, readAdminPage, sendAdminPage } from './admin-page'
import { toCredentialProblem } from './credential-errors'
import { CredentialsPage } from './credentials-page'
import { serviceFields, type TypedService, toServiceInput, toTyped } from './service-form'

interface Shown {
  problem: FormProblem | null
  status: number
  service: TypedService | null
  /** The form edits an existing service. */
  isChange: boolean
}

/**
 * Registers the page `/credentials` and its forms without a credential's value. The forms with a value
 * go to `credentialFormPaths` of mcp-servers, which redirects here.
 */
export function registerCredentialPages(app: Hono<HubEnv>, toolAdmin: ToolAdminApi): void {
  app.get(
    '/credentials',
    page((c) => show(c, toolAdmin, { problem: null, status: 200, service: null, isChange: false })),
  )
  app.post(
    '/credentials/services',
    page((c) => putService(c, toolAdmin)),
  )
  app.post(
    '/credentials/services/delete',
    page((c) =>
      removeBy(c, toolAdmin, async (field, admin) => {
        await toolAdmin.deleteService(admin, { server: field('server'), name: field('name') })
        return '/credentials#services'
      }),
    ),
  )
  app.post(
    '/credentials/delete',
    page((c) =>
      removeBy(c, toolAdmin, async (field, admin) => {
        await toolAdmin.deleteCredential(admin, field('name'))
        return '/credentials'
      }),
    ),
  )
}

async function show(c: PageContext, toolAdmin: ToolAdminApi, shown: Shown): Promise<Response> {
  const { frame, answers } = await readAdminPage(c, {
    credentials: await toolAdmin.selectCredentials(),
    services: toolAdmin.selectServices(),
  })
  const { credentials, services } = answers
  const selected = c.req.query('change')
  const changed = services.find(({ server, name }) => `${server}/${name}` === selected)
  const rejected = shown.problem ? null : toCredentialProblem(c.req.query())
  return sendAdminPage(c, {
    frame,
    title: 'Credentials',
    tab: 'credentials',
    status: shown.status,
    body: (
      <CredentialsPage
        now={frame.now}
        credentials={credentials}
        services={services}
        servers={toolAdmin.serviceServers}
        problem={shown.problem ?? rejected?.problem ?? null}
        isAdding={rejected?.isNew ?? false}
        service={shown.service ?? (changed ? toTyped(changed) : null)}
        isChange={shown.isChange || (shown.service === null && changed !== undefined)}
      />
    ),
  })
}

async function putService(c: PageContext, toolAdmin: ToolAdminApi): Promise<Response> {
  const toFields = (field: (name: string) => string) =>
    Object.fromEntries(serviceFields.map((name) => [name, field(name)])) as TypedService
  return handleAdminForm(c, {
    async submit(field, admin) {
      const typed = toFields(field)
      const place = { server: typed.server, name: typed.name.trim() }
      await toolAdmin.putService(admin, place, toServiceInput(typed))
      return `/credentials#service-${place.server}-${place.name}`
    },
    showAgain: (rejection, field) =>
      show(c, toolAdmin, {
        ...rejection,
        service: toFields(field),
        isChange: field('is_change') === 'yes',
      }),
  })
}

const removeBy = (
  c: PageContext,
  toolAdmin: ToolAdminApi,
  submit: (field: (name: string) => string, admin: Sender) => Promise<string>,
): Promise<Response> =>
  handleAdminForm(c, {
    submit,
    showAgain: (rejection) => show(c, toolAdmin, { ...rejection, service: null, isChange: false }),
  })
