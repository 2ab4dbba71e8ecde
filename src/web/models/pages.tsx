import type { Hono } from 'hono'
import type { Actor, Sender } from '../../hub/contract/hub'
import { type HubEnv, requireAdminSender } from '../../hub/http/page-entry'
import { tryModel } from '../../hub/models/actions'
import { toModelsView } from '../../hub/models/models-view'
import { selectModelUsers } from '../../hub/models/queries'
import type { ModelAdminApi } from '../../mcp-servers/contract/model-admin'
import { modelPriceInput } from '../../mcp-servers/contract/model-price'
import type { FormProblem, FormState } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm, runFormOnce } from '../frame/read-form'
import { type PageContext, page } from '../frame/send-page'
import { handleAdminForm, readAdminPage, sendAdminPage } from '../tools/admin-page'
import { toCredentialProblem } from '../tools/credential-errors'
import { ModelsPage, type ModelsPageProps } from './models-page'
import { createPriceForm, type PriceField, priceForm } from './price-form'
import { settingsLabels } from './provider-props'

interface Shown extends Pick<ModelsPageProps, 'typed' | 'test'> {
  /** The rejected form of a price. */
  price: FormState<PriceField> | null
  problem: FormProblem | null
  status: number
}

const nothing: Shown = { problem: null, status: 200, typed: null, test: null, price: null }

/**
 * Registers the page `/models` and its forms without a key. The form of the key goes to mcp-servers, which
 * redirects here.
 */
export function registerModelPages(app: Hono<HubEnv>, models: ModelAdminApi): void {
  app.get(
    '/models',
    page((c) => show(c, models, nothing)),
  )
  app.post(
    '/models',
    page((c) => saveSettings(c, models)),
  )
  app.post(
    '/models/list',
    page((c) =>
      changeBy(c, models, async (provider, admin) => {
        await models.listModels(admin, provider)
      }),
    ),
  )
  app.post(
    '/models/delete',
    page((c) => changeBy(c, models, (provider, admin) => models.deleteProvider(admin, provider))),
  )
  app.post(
    '/models/price',
    page((c) => savePrice(c, models)),
  )
  app.post(
    '/models/price/reset',
    page((c) =>
      handleAdminForm(c, {
        async submit(field, admin) {
          await models.putPrice(admin, field('provider'), { model: field('model'), price: null })
          return '/models#prices'
        },
        showAgain: (rejection) => show(c, models, { ...nothing, ...rejection }),
      }),
    ),
  )
  app.post(
    '/models/test',
    page((c) => test(c, models)),
  )
}

async function show(c: PageContext, models: ModelAdminApi, shown: Shown): Promise<Response> {
  const { context } = c.var
  const { frame, answers } = await readAdminPage(c, {
    connections: context.models.selectConnections(),
    stored: models.selectProviders(),
    users: selectModelUsers({}),
  })
  const view = toModelsView(context.agents.models, answers.connections, answers.users)
  const rejected = shown.problem ? null : toCredentialProblem(c.req.query())
  return sendAdminPage(c, {
    frame,
    title: 'Models',
    tab: 'models',
    status: shown.status,
    body: (
      <ModelsPage
        view={view}
        stored={answers.stored}
        now={frame.now}
        problem={shown.problem ?? rejected?.problem ?? null}
        typed={shown.typed}
        test={shown.test}
        price={shown.price ?? createPriceForm(view.prices, c.req.query('price') ?? '')}
      />
    ),
  })
}

function saveSettings(c: PageContext, models: ModelAdminApi): Promise<Response> {
  return handleAdminForm(c, {
    labels: settingsLabels,
    async submit(field, admin) {
      const provider = field('provider')
      await models.putProvider(admin, provider, {
        ...(field('has_address') === 'yes' && {
          base_url: field('base_url'),
          allow_private: field('allow_private') === 'on',
        }),
        default_model: field('default_model'),
      })
      return toPlace(provider)
    },
    showAgain: (rejection, field) => {
      const names = Object.keys(settingsLabels)
      const fields = Object.fromEntries(names.map((name) => [name, field(name)]))
      return show(c, models, {
        ...{ ...nothing, ...rejection },
        typed: { provider: field('provider'), fields },
      })
    },
  })
}

async function savePrice(c: PageContext, models: ModelAdminApi): Promise<Response> {
  const admin = await requireAdminSender(c)
  const field = await readForm(c)
  const read = readFormWith(modelPriceInput, field, priceForm)
  if (!read.isValid) {
    const { problem } = read.form
    return show(c, models, { ...nothing, status: 400, problem, price: read.form })
  }
  try {
    const { model, ...price } = read.value
    await models.putPrice(admin, field('provider'), { model, price })
  } catch (error) {
    const { form, status } = rejectForm(priceForm, read.form, error)
    return show(c, models, { ...nothing, status, problem: form.problem, price: form })
  }
  return c.redirect('/models#prices', 303)
}

const changeBy = (
  c: PageContext,
  models: ModelAdminApi,
  change: (provider: string, admin: Sender) => Promise<void>,
): Promise<Response> =>
  handleAdminForm(c, {
    async submit(field, admin) {
      await change(field('provider'), admin)
      return toPlace(field('provider'))
    },
    showAgain: (rejection) => show(c, models, { ...nothing, ...rejection }),
  })

/** Returns the part of the page about a provider. */
const toPlace = (provider: string): string =>
  /^[a-z][a-z0-9-]*$/.test(provider) ? `/models#${provider}` : '/models'

/** Makes a test call and shows the page with its result. */
async function test(c: PageContext, models: ModelAdminApi): Promise<Response> {
  return handleAdminForm(c, {
    async respond(field, admin) {
      const provider = field('provider')
      const name = field('model').trim()
      const model = name.startsWith(`${provider}/`) ? name : `${provider}/${name}`
      const tried = await runFormOnce(c, admin, 'models.test', () =>
        tryModel(c.var.context, toActor(admin), model),
      )
      return show(c, models, { ...nothing, test: { provider, tried } })
    },
    showAgain: (rejection) => show(c, models, { ...nothing, ...rejection }),
  })
}

const toActor = ({ id, name, kind }: Sender): Actor => ({
  ...{ accountId: id, name, kind, activationId: null, postId: null, idempotencyKey: null },
})
