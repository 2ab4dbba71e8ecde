import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import {
  findTrial,
  type ModelsView,
  type ProviderView,
  toModelsView,
  tryModelOnce,
} from '../../hub/agents/model-actions'
import { selectModelUsers } from '../../hub/agents/model-queries'
import type { Sender } from '../../hub/contract/hub'
import { type HubEnv, requireAdminSender } from '../../hub/http/page-entry'
import {
  type LocalModelServer,
  type ModelAdminApi,
  type ModelProviderSummary,
  modelPriceInput,
} from '../../mcp-servers/contract/model-admin'
import { formatPlural } from '../../shared/format'
import type { AccountId } from '../../shared/ids'
import { ErrorSummary, Submit } from '../form/fields'
import { type FormProblem, type FormState, readFormWith, rejectForm } from '../form/form-state'
import { readForm, readFormKey } from '../frame/read-form'
import { type PageContext, page } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountLink, TextLink } from '../parts/links'
import { RelativeTime } from '../parts/times'
import { handleAdminForm, readAdminPage, sendAdminPage } from '../tools/admin-page'
import { toCredentialProblem } from '../tools/credentials-page'
import {
  createPriceForm,
  DeleteForm,
  KeyForm,
  keyPages,
  keyProblemTexts,
  ListForm,
  type PriceField,
  Prices,
  type ProviderBlockProps,
  priceForm,
  SettingsForm,
  settingsLabels,
  TestForm,
  TestResult,
  type TestShown,
} from './model-forms'

interface Shown extends Pick<ModelsPageProps, 'typed' | 'test' | 'opened'> {
  /** The rejected form of a price. */
  price: FormState<PriceField> | null
  problem: FormProblem | null
  status: number
}

const nothing: Shown = {
  problem: null,
  status: 200,
  typed: null,
  test: null,
  price: null,
  opened: '',
}

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
    '/models/local',
    page((c) => useLocalServer(c, models)),
  )
  app.post(
    '/models/delete',
    page((c) => changeBy(c, models, (provider, admin) => models.deleteProvider(admin, provider))),
  )
  app.post(
    '/models/use',
    page((c) => changeBy(c, models, (provider, admin) => models.useKey(admin, provider))),
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
  const local = await findLocal(c, models, view)
  const test = shown.test ?? (await findKeyTest(c, frame.viewer?.id as AccountId))
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
        test={test}
        price={shown.price ?? createPriceForm(view.prices, c.req.query('price') ?? '')}
        isOwnMachine={models.isOwnMachine}
        local={local}
        opened={shown.opened || (c.req.query('open') ?? '')}
      />
    ),
  })
}

/** Returns the test of the key that the admin has just saved; null: the address names none. */
async function findKeyTest(c: PageContext, adminId: AccountId): Promise<TestShown | null> {
  const key = c.req.query('tested')
  const tried = key ? await findTrial(c.var.context, adminId, key) : null
  return tried && { provider: tried.model.split('/')[0] ?? '', tried, isOfKey: true }
}

/**
 * Looks for servers of models on this machine, for an admin who has set up none or asks for it. Whoever cannot open the
 * page was refused before.
 */
function findLocal(
  c: PageContext,
  models: ModelAdminApi,
  { providers }: ModelsView,
): Promise<LocalModelServer[]> {
  const isSetUp = providers.some(
    ({ provider, source }) => provider === 'openai-compatible' && source !== 'none',
  )
  const isWanted = c.req.method === 'GET' && (!isSetUp || c.req.query('look') === 'here')
  return isWanted ? models.findLocalServers() : Promise.resolve([])
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
        ...nothing,
        ...rejection,
        typed: { provider: field('provider'), fields },
      })
    },
  })
}

const useLocalServer = (c: PageContext, models: ModelAdminApi): Promise<Response> =>
  handleAdminForm(c, {
    async submit(field, admin) {
      await models.useLocalServer(admin, field('server'), field('model'))
      return toPlace('openai-compatible')
    },
    showAgain: (rejection) => show(c, models, { ...nothing, ...rejection }),
  })

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
    showAgain: (rejection, field) =>
      show(c, models, { ...nothing, ...rejection, opened: field('provider') }),
  })

/** Returns the part of the page about a provider. */
const toPlace = (provider: string): string =>
  /^[a-z][a-z0-9-]*$/.test(provider) ? `/models?open=${provider}#${provider}` : '/models'

/** Makes a test call and shows the page with its result. */
async function test(c: PageContext, models: ModelAdminApi): Promise<Response> {
  return handleAdminForm(c, {
    async respond(field, admin) {
      const provider = field('provider')
      const name = field('model').trim()
      const model = name.startsWith(`${provider}/`) ? name : `${provider}/${name}`
      const key = await readFormKey(c)
      const tried = await tryModelOnce(c.var.context, { accountId: admin.id }, model, key)
      const test = { provider, tried, isOfKey: false }
      return show(c, models, { ...nothing, test, opened: provider })
    },
    showAgain: (rejection, field) =>
      show(c, models, { ...nothing, ...rejection, opened: field('provider') }),
  })
}

interface ModelsPageProps {
  view: ModelsView
  stored: ModelProviderSummary[]
  now: number
  problem: FormProblem | null
  /** The provider whose form was sent, with what was typed into it. */
  typed: { provider: string; fields: Record<string, string> } | null
  test: TestShown | null
  price: FormState<PriceField>
  isOwnMachine: boolean
  /** Servers of models that answer on this machine. */
  local: LocalModelServer[]
  /** The provider to show; empty: none. */
  opened: string
}

/** The model providers of this hub without their keys, which agents use them, and prices. */
const ModelsPage: FC<ModelsPageProps> = (props) => {
  const { view, stored, typed, test, isOwnMachine, local } = props
  return (
    <>
      <h1>Models</h1>
      <p class="lede">
        Where agents get their models. A key is encrypted, sent to its provider only, and never
        shown again. What the environment sets takes precedence.
      </p>
      <div class="up4">
        <ErrorSummary problem={props.problem} />
      </div>
      {local.length > 0 && <LocalServers servers={local} />}
      <section class="block" aria-labelledby="providers-title">
        <h2 id="providers-title">Providers</h2>
        {local.length === 0 && view.providers.every(({ isReady }) => !isReady) && (
          <StartHere isOwnMachine={isOwnMachine} />
        )}
        {view.providers.map((provider) => {
          const isTyped = typed?.provider === provider.provider
          const isTested = test?.provider === provider.provider
          return (
            <ProviderBlock
              now={props.now}
              state={provider}
              stored={stored.find((each) => each.provider === provider.provider) ?? null}
              typed={isTyped ? typed.fields : {}}
              test={isTested ? test : null}
              isOwnMachine={isOwnMachine}
              isOpen={isTyped || isTested || props.opened === provider.provider}
            />
          )
        })}
      </section>
      <Order view={view} />
      <Prices view={view} form={props.price} />
    </>
  )
}

const Order: FC<{ view: ModelsView }> = ({ view: { auto, offline } }) => (
  <Block title="Used by default">
    <p>
      Agents with <code>provider: auto</code>, or without a model, use{' '}
      {auto.length === 1 ? <code>{auto[0]}</code> : 'the first of these with budget left:'}
      {auto.length === 1 && '.'}
    </p>
    {auto.length > 1 && (
      <ol class="up2">
        {auto.map((model) => (
          <li>
            <code>{model}</code>
          </li>
        ))}
      </ol>
    )}
    {offline.length > 0 && (
      <p class="meta up2">
        The built-in offline model searches and quotes posts at no cost. It is used by{' '}
        <AgentNames names={offline.map(({ name }) => name)} />.
      </p>
    )}
  </Block>
)

/**
 * A model provider as one line, which opens to what is set, who uses it, and the forms to change and to test it. Of one
 * that is not set up, it opens to the form that is needed first.
 */
const ProviderBlock: FC<ProviderBlockProps> = (props) => {
  const { state, stored, test, isOpen } = props
  const isOfEnvironment = state.source === 'environment'
  const hasOwnKey = isOfEnvironment || state.source === 'binding'
  return (
    <details class="provider" {...(isOpen ? { open: true } : {})}>
      <summary>
        <h3>{toTitle(state)}</h3>{' '}
        <span>
          <State {...props} />
          {state.isReady && state.defaultModel !== null && (
            <>
              , <code>{state.defaultModel}</code>
            </>
          )}
        </span>
      </summary>
      <div id={state.provider}>
        {test && <TestResult of={test} />}
        <UnusedKey state={state} />
        {(state.isReady || stored) && <Facts {...props} />}
        <div class="up3">
          {(state.isReady || state.keyProblem !== null) && (
            <TestForm state={state} isOpen={test?.isOfKey === false} />
          )}
          {!hasOwnKey && state.baseUrl !== null && <KeyForm {...props} />}
          <SettingsForm {...props} />
          {(stored || state.source === 'binding') && !isOfEnvironment && (
            <ListForm {...props} isOpen={test?.isOfKey === true && test.tried.failure === null} />
          )}
          {stored && <DeleteForm state={state} />}
        </div>
      </div>
    </details>
  )
}

/** Says that agents do not use the key, and offers to let them. */
const UnusedKey: FC<{ state: ProviderView }> = ({ state: { provider, keyProblem } }) =>
  keyProblem && (
    <div class="warn up3">
      <p>
        Agents do not use this key: {keyProblemTexts[keyProblem].why}.{' '}
        {keyProblemTexts[keyProblem].advice}
      </p>
      <form class="up2" method="post" action="/models/use">
        <input type="hidden" name="provider" value={provider} />
        <Submit>
          Use it anyway<span class="vh">: the key of {provider}</span>
        </Submit>
      </form>
    </div>
  )

const Facts: FC<ProviderBlockProps> = ({ state }) => (
  <dl class="def">
    <dt>Base URL</dt>
    <dd>
      {state.baseUrl === null ? (
        <span class="meta">{state.source === 'binding' ? 'the binding AI' : 'not set'}</span>
      ) : (
        <code>{state.baseUrl}</code>
      )}
    </dd>
    <dt>Default model</dt>
    <dd>
      {state.defaultModel === null ? (
        <span class="meta">not set</span>
      ) : (
        <code>{state.defaultModel}</code>
      )}
    </dd>
    <dt>Used by</dt>
    <dd>
      {state.users.length === 0 ? (
        <span class="meta">no agent</span>
      ) : (
        <AgentNames names={state.users.map(({ agent }) => agent.name)} />
      )}
    </dd>
  </dl>
)

const toTitle = ({ provider, title }: ProviderView): string =>
  provider === 'openai-compatible' ? 'OpenAI-compatible server' : title

const State: FC<ProviderBlockProps> = ({ now, state, stored }) => {
  if (state.source === 'environment') {
    return (
      <>
        set by the environment <span class="meta">{state.keySetting}</span>
      </>
    )
  }
  if (stored?.hasKey) {
    return (
      <>
        {state.isReady && 'key set'}
        {!state.isReady && (state.keyProblem ? 'key not used' : 'key set, base URL missing')}{' '}
        <span class="meta">
          {stored.keySetBy !== null && `by ${stored.keySetBy} `}
          {stored.keySetAt !== null && <RelativeTime at={stored.keySetAt} now={now} />}
        </span>
      </>
    )
  }
  if (state.source === 'binding') return <>bound to this hub, needs no key</>
  if (state.isReady) return <>ready, without a key</>
  return <span class="meta">{state.needsKey ? 'key missing' : 'base URL missing'}</span>
}

const namesShown = 5

/** The servers of models that answer on this machine, each with the button that uses it. */
const LocalServers: FC<{ servers: LocalModelServer[] }> = ({ servers }) => (
  <section class="block" aria-labelledby="local-title">
    <h2 id="local-title">On this machine</h2>
    {servers.map((server) => (
      <LocalServer server={server} />
    ))}
    <p class="meta up3">
      No key and no cost: what agents read stays on this machine. The model becomes the default of
      the OpenAI-compatible server below.
    </p>
  </section>
)

const LocalServer: FC<{ server: LocalModelServer }> = ({ server: { name, baseUrl, models } }) => {
  const id = `local-${new URL(baseUrl).port}`
  return (
    <form class="form up2" method="post" action="/models/local">
      <input type="hidden" name="server" value={name} />
      <p>
        <strong>{name} on this machine:</strong> {formatNames(models)}
      </p>
      {models.length === 1 ? (
        <input type="hidden" name="model" value={models[0]} />
      ) : (
        <div>
          <label for={id}>Model</label>
          <select id={id} name="model">
            {models.map((model) => (
              <option value={model}>{model}</option>
            ))}
          </select>
        </div>
      )}
      <div class="acts">
        <Submit isMain>
          Use it<span class="vh">: {name}</span>
        </Submit>
      </div>
    </form>
  )
}

const formatNames = (models: string[]): string => {
  const more = models.length - namesShown
  const names = models.slice(0, namesShown).join(', ')
  return more > 0 ? `${names} and ${formatPlural(more, 'other', 'others')}` : names
}

/** Which provider to set up first, on a hub that has none. */
const StartHere: FC<{ isOwnMachine: boolean }> = ({ isOwnMachine }) => (
  <p class="up2">
    <strong>Start here:</strong> choose the provider whose account you have. Without any, create a
    key at <TextLink href={keyPages.anthropic?.url}>{keyPages.anthropic?.name}</TextLink> and save
    it at Anthropic, the first in this list that agents use.
    {isOwnMachine && (
      <>
        {' '}
        For models without an account or cost, install{' '}
        <TextLink href="https://ollama.com/download">Ollama</TextLink>, run{' '}
        <code>ollama pull qwen3</code> and open this page again.
      </>
    )}
  </p>
)

const namesMax = 20

/** Links to agents, in a row; beyond the first ones, how many more there are. */
const AgentNames: FC<{ names: string[] }> = ({ names }) => (
  <>
    {names.slice(0, namesMax).map((name, index) => (
      <>
        {index > 0 && ', '}
        <AccountLink name={name} kind="agent" />
      </>
    ))}
    {names.length > namesMax && (
      <>
        {' and '}
        <TextLink href="/agents">
          {formatPlural(names.length - namesMax, 'other', 'others')}
        </TextLink>
      </>
    )}
  </>
)
