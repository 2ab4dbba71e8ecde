import type { FC } from 'hono/jsx'
import type { ModelPrice } from '../../agents/contract/agents'
import type { ModelsView, ProviderView, TriedModel } from '../../hub/agents/model-actions'
import type { KeyProblem } from '../../hub/contract/hub'
import type { ModelProviderSummary } from '../../mcp-servers/contract/model-admin'
import { outside } from '../../shared/config'
import { formatCost, formatCount, formatMoney, formatPlural, formatSpan } from '../../shared/format'
import { Field, Submit } from '../form/fields'
import {
  createForm,
  describeDollars,
  describeText,
  type FormDefinition,
  type FormState,
  formatDollars,
  parseDollars,
} from '../form/form-state'
import { FormKey } from '../frame/read-form'
import { TextLink } from '../parts/links'
import { TableHead } from '../parts/lists'
import { RelativeTime } from '../parts/times'

/** The form that makes one short call. */
export const TestForm: FC<{ state: ProviderView; isOpen: boolean }> = ({ state, isOpen }) => {
  const id = `${state.provider}-test-model`
  return (
    <details {...(isOpen ? { open: true } : {})}>
      <summary>
        Test<span class="vh"> {state.provider}</span>
      </summary>
      <form class="form up2" method="post" action={`/models/test#${state.provider}`}>
        <FormKey />
        <input type="hidden" name="provider" value={state.provider} />
        <div>
          <label for={id}>Model</label>
          <input
            id={id}
            name="model"
            value={state.defaultModel ?? ''}
            list={`${state.provider}-models`}
            maxlength={190}
            autocomplete="off"
            spellcheck={false}
            aria-describedby={`${id}-note`}
            required
          />
          <p class="meta" id={`${id}-note`}>
            Makes one short call{formatTestCost(state)}. The budgets of the hub and your own pay for
            it.
          </p>
        </div>
        <div class="acts">
          <Submit>Test model</Submit>
        </div>
      </form>
    </details>
  )
}

/** The form of the key. It goes to mcp-servers, so that no key passes through a page. */
export const KeyForm: FC<ProviderBlockProps> = ({ state, stored }) => {
  const id = `${state.provider}-key`
  const verb = stored?.hasKey ? 'Replace key' : 'Set key'
  const page = keyPages[state.provider]
  return (
    <details {...(state.isReady ? {} : { open: true })}>
      <summary>
        {verb}
        <span class="vh"> of {state.provider}</span>
      </summary>
      <form class="form up2" method="post" action="/models/key">
        <FormKey />
        <input type="hidden" name="provider" value={state.provider} />
        <div>
          <label for={id}>Key</label>
          <input
            id={id}
            name="value"
            type="password"
            maxlength={outside.credentialCharsMax}
            autocomplete="off"
            spellcheck={false}
            aria-describedby={`${id}-note`}
            required
          />
          <p class="meta" id={`${id}-note`}>
            The secret, or env:ROOKERY_SECRET_NAME for a secret of the Worker.
            {state.baseUrl !== null && ` It is sent to ${new URL(state.baseUrl).host} only.`}
            {page && (
              <>
                {' '}
                Create one at <TextLink href={page.url}>{page.name}</TextLink>.
              </>
            )}
          </p>
          <p class="meta">
            Saving tests the key: it lists the models, and makes one short call
            {state.defaultModel !== null && ` to ${state.defaultModel}`}
            {formatTestCost(state)}. The budgets of the hub and your own pay for it.
          </p>
        </div>
        <div class="acts">
          <Submit>Save and test key</Submit>
        </div>
      </form>
    </details>
  )
}

/** The form of address and default model. */
export const SettingsForm: FC<ProviderBlockProps> = ({ state, stored, typed, isOwnMachine }) => {
  const { provider } = state
  const isRejected = Object.keys(typed).length > 0
  const isUnreached = state.baseUrl === null && state.source !== 'binding'
  const baseUrl = typed.base_url ?? stored?.baseUrl ?? ''
  const isPrivate = isRejected ? typed.allow_private === 'on' : (stored?.allowPrivate ?? false)
  return (
    <details {...(isRejected || isUnreached ? { open: true } : {})}>
      <summary>
        {state.source === 'environment' ? 'Default model' : 'Base URL, default model'}
        <span class="vh"> of {provider}</span>
      </summary>
      <form class="form up2" method="post" action="/models">
        <input type="hidden" name="provider" value={provider} />
        {state.source !== 'environment' && (
          <>
            <input type="hidden" name="has_address" value="yes" />
            <div>
              <label for={`${provider}-url`}>{settingsLabels.base_url}</label>
              <input
                id={`${provider}-url`}
                name="base_url"
                value={baseUrl}
                maxlength={2_000}
                autocomplete="off"
                spellcheck={false}
                aria-describedby={`${provider}-url-note`}
              />
              <p class="meta" id={`${provider}-url-note`}>
                {provider === 'openai-compatible'
                  ? describeReach(isOwnMachine)
                  : 'Leave empty for the built-in one. For another host, set the key again.'}
              </p>
            </div>
            {provider === 'openai-compatible' && isOwnMachine && (
              <p>
                <TextLink href="/models?look=here">Look for servers on this machine</TextLink>
              </p>
            )}
            <label class="check">
              <input type="checkbox" name="allow_private" checked={isPrivate} />
              {settingsLabels.allow_private}
            </label>
          </>
        )}
        <div>
          <label for={`${provider}-default`}>{settingsLabels.default_model}</label>
          <input
            id={`${provider}-default`}
            name="default_model"
            value={typed.default_model ?? stored?.defaultModel ?? ''}
            list={`${provider}-models`}
            maxlength={200}
            autocomplete="off"
            spellcheck={false}
            aria-describedby={`${provider}-default-note`}
          />
          <p class="meta" id={`${provider}-default-note`}>
            For agents that name no model. Leave empty for{' '}
            {provider === 'openai-compatible' ? 'none' : 'the one that comes with Rookery'}.
          </p>
        </div>
        <div class="acts">
          <Submit>Save</Submit>
        </div>
      </form>
    </details>
  )
}

/** The models that the provider listed, and the form that asks for them. */
export const ListForm: FC<ProviderBlockProps & { isOpen: boolean }> = (props) => {
  const { now, state, stored, isOpen } = props
  const { listed } = state
  return (
    <details {...(isOpen ? { open: true } : {})}>
      <summary>
        Models{listed.length > 0 && ` (${listed.length})`}
        <span class="vh"> of {state.provider}</span>
      </summary>
      {listed.length > 0 && (
        <>
          <p class="meta up2">US dollars per million tokens, input and output, where known.</p>
          <ul class="rules up2">
            {listed.map(({ name, price }) => (
              <li>
                <code>{name}</code> {price && <span class="meta">{formatPrice(price)}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
      <datalist id={`${state.provider}-models`}>
        {listed.map(({ name }) => (
          <option value={name} />
        ))}
      </datalist>
      <form class="up2" method="post" action="/models/list">
        <input type="hidden" name="provider" value={state.provider} />
        <Submit>
          List models<span class="vh"> of {state.provider}</span>
        </Submit>
        {stored?.listedAt != null && (
          <span class="meta">
            {' '}
            Listed <RelativeTime at={stored.listedAt} now={now} />
          </span>
        )}
      </form>
    </details>
  )
}

const formatPrice = ({ input, output }: { input: number; output: number }): string =>
  `${formatMoney(input, 'thread')} in, ${formatMoney(output, 'thread')} out`

/** The most that a test of the default model takes, in words; empty where that is unknown. */
function formatTestCost({ testCost }: ProviderView): string {
  if (testCost === null) return ''
  const { tokens, microusd } = testCost
  const cost = microusd === null ? 'its price is unknown' : formatMoney(microusd, 'trace')
  return `, at most ${formatPlural(tokens, 'token', 'tokens')}, ${cost}`
}

export const DeleteForm: FC<{ state: ProviderView }> = ({ state: { provider } }) => (
  <details class="danger">
    <summary>
      Delete<span class="vh"> {provider}</span>
    </summary>
    <form class="up2" method="post" action="/models/delete">
      <input type="hidden" name="provider" value={provider} />
      <p class="meta">
        Deletes the key, the base URL, the default model and the prices set here. Agents stay.
      </p>
      <Submit class="up2">Delete {provider}</Submit>
    </form>
  </details>
)

export type PriceField = 'provider' | 'model' | 'input' | 'cached' | 'output'
type PriceFormState = FormState<PriceField>

const dollars = {
  parse: parseDollars,
  message: (text: string) =>
    describeDollars(text, 'Enter dollars per million tokens, such as 0.25.'),
}

/** The form of a price, with the fields of the API's input. */
export const priceForm: FormDefinition<PriceField> = {
  rejected: 'The price was not saved.',
  fields: {
    provider: { path: null },
    model: { message: describeText('The model', 160) },
    input: dollars,
    cached: dollars,
    output: dollars,
  },
}

/** Returns the form with the price of a model, or with the name alone when it has none; empty without a name. */
export function createPriceForm(prices: ModelPrice[], name: string): PriceFormState {
  const known = prices.find(({ model }) => model === name)
  const amounts = {
    input: formatDollars(known?.input ?? null),
    cached: formatDollars(known?.cached ?? null),
    output: formatDollars(known?.output ?? null),
  }
  return createForm({ provider: known?.provider ?? '', model: name, ...amounts })
}

/** The form that sets the price of a model. */
const PriceForm: FC<{ form: PriceFormState; providers: ProviderView[] }> = ({
  form,
  providers,
}) => (
  <details id="set-price" {...(form.typed.model !== '' || form.problem ? { open: true } : {})}>
    <summary>Set a price</summary>
    <form class="form up2" method="post" action="/models/price#set-price">
      <p class="meta">
        US dollars per million tokens. Calls that begin later count with it, and budgets count
        dollars for a model that had no price.
      </p>
      <fieldset class="two">
        <legend class="vh">Model</legend>
        <div>
          <Field
            form={form}
            name="provider"
            id="price-provider"
            label="Provider"
            as="select"
            options={providers.map(({ provider, title }): [string, string] => [provider, title])}
          />
        </div>
        <div>
          <Field
            form={form}
            name="model"
            id="price-model"
            label="Model"
            maxlength={160}
            autocomplete="off"
            spellcheck={false}
            required
          />
        </div>
      </fieldset>
      {amounts.map(([name, label]) => (
        <div>
          <Field
            form={form}
            name={name}
            id={`price-${name}`}
            label={label}
            inputmode="decimal"
            autocomplete="off"
            required
          />
        </div>
      ))}
      <div class="acts">
        <Submit>Save price</Submit>
      </div>
    </form>
  </details>
)

const amounts = [
  ['input', 'Input'],
  ['cached', 'Cached input'],
  ['output', 'Output'],
] as const

/** The prices that budgets count with: those that admins set here, all others, and the form that sets one. */
export const Prices: FC<{ view: ModelsView; form: FormState<PriceField> }> = ({ view, form }) => {
  const own = view.prices.filter(({ isSetHere }) => isSetHere)
  const others = view.prices.filter(({ isSetHere }) => !isSetHere)
  return (
    <section class="block" id="prices">
      <h2>Prices</h2>
      <p class="meta">
        US dollars per million tokens. Budgets count with these prices. Usage of other models is
        counted in tokens.
      </p>
      {own.length > 0 && <PriceTable prices={own} />}
      <details class="up2">
        <summary>{others.length} models with a known price</summary>
        <PriceTable prices={others} />
      </details>
      <PriceForm form={form} providers={view.providers} />
    </section>
  )
}

const PriceTable: FC<{ prices: ModelPrice[] }> = ({ prices }) => (
  <table class="tbl fold up2">
    <TableHead
      columns={[
        'Model',
        { right: 'Input' },
        { right: 'Cached input' },
        { right: 'Output' },
        { right: 'Context' },
        { hidden: 'Change' },
      ]}
    />
    <tbody>
      {prices.map((price) => (
        <tr>
          <th scope="row">
            <code>{price.model}</code>
          </th>
          <Price label="Input" microusd={price.input} />
          <Price label="Cached input" microusd={price.cached} />
          <Price label="Output" microusd={price.output} />
          <td class="r num" data-l="Context">
            {formatCount(price.contextTokens)}
          </td>
          <td class="whole">
            <ChangeForm price={price} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

const ChangeForm: FC<{ price: ModelPrice }> = ({ price: { provider, model, isSetHere } }) => (
  <form class="acts" method="post" action="/models/price/reset">
    <TextLink href={`/models?price=${encodeURIComponent(model)}#set-price`}>
      Edit<span class="vh"> the price of {model}</span>
    </TextLink>
    {isSetHere && (
      <>
        <input type="hidden" name="provider" value={provider} />
        <input type="hidden" name="model" value={model} />
        <Submit>
          Reset<span class="vh"> the price of {model}</span>
        </Submit>
      </>
    )}
  </form>
)

const Price: FC<{ label: string; microusd: number }> = ({ label, microusd }) => (
  <td class="r num" data-l={label}>
    {formatMoney(microusd, 'thread')}
  </td>
)

/** Why agents do not use a key, and what to do about it. */
export const keyProblemTexts: Readonly<Record<KeyProblem, { why: string; advice: string }>> = {
  untested: {
    why: 'it has not been tested',
    advice: 'Test a model below.',
  },
  refused: {
    why: 'the provider refused it',
    advice: 'Check the key, and that its account has access to the model. Then replace it below.',
  },
  busy: {
    why: 'the provider was busy or limited requests when it was tested',
    advice: 'The key itself was not refused. Test it again in a minute.',
  },
  unreachable: {
    why: 'the provider did not answer when it was tested',
    advice: 'The key itself was not refused. Check the base URL, then test it again.',
  },
  failed: {
    why: 'its test failed',
    advice: 'The key itself was not refused. Correct what the provider says, then test it again.',
  },
}

/** Where the keys of a provider are created. */
export const keyPages: Readonly<Record<string, { url: string; name: string }>> = {
  anthropic: { url: 'https://platform.claude.com/settings/keys', name: 'platform.claude.com' },
  openai: { url: 'https://platform.openai.com/api-keys', name: 'platform.openai.com' },
  'workers-ai': {
    url: 'https://dash.cloudflare.com/profile/api-tokens',
    name: 'dash.cloudflare.com',
  },
}

/** Which base URLs a hub reaches, as the form of a server's base URL says it. */
const describeReach = (isOwnMachine: boolean): string =>
  isOwnMachine
    ? 'Such as http://localhost:11434/v1. Addresses of this machine (localhost, 127.0.0.1, [::1]) need no setting. For another private address, start the hub with ROOKERY_ALLOW_PRIVATE_SERVICES=true.'
    : 'Such as https://models.example.com/v1. Others reach this hub, so a private address, localhost too, is refused unless it is started with ROOKERY_ALLOW_PRIVATE_SERVICES=true. On Cloudflare no private address can be reached.'

export interface ProviderBlockProps {
  now: number
  state: ProviderView
  /** Null when nothing was set on this page. */
  stored: ModelProviderSummary | null
  /** What was typed into a rejected form. */
  typed: Record<string, string>
  test: TestShown | null
  /** Whether the hub runs on the machine of the people who use it. */
  isOwnMachine: boolean
  /** Whether the page is to show what the provider has. */
  isOpen: boolean
}

/** Labels of the fields of the form of address and default model. */
export const settingsLabels = {
  base_url: 'Base URL',
  allow_private: 'The server has a private address',
  default_model: 'Default model',
} as const

/** A test call that was just made. */
export interface TestShown {
  provider: string
  tried: TriedModel
  /** Whether it tests a key that was just saved. */
  isOfKey: boolean
}

/** What a test call took, or why it failed. */
export const TestResult: FC<{ of: TestShown }> = ({ of: { tried, isOfKey } }) => {
  const { usage, failure } = tried
  if (failure !== null) {
    return (
      <div class="wrong up3" role="alert">
        <strong>
          {isOfKey && 'The key is saved, but '}
          {isOfKey ? 'the' : 'The'} test of {tried.model} failed.
        </strong>
        <p>{failure}</p>
        <p class="meta">{usage ? formatUsage(tried) : 'It cost nothing.'}</p>
      </div>
    )
  }
  return (
    <div class="up3" role="status">
      <p>
        {isOfKey && <strong>The key works: </strong>}
        <strong>{tried.model} answered.</strong> {formatUsage(tried)}
      </p>
      {tried.text !== '' && <p class="meta">Its answer: {tried.text}</p>}
    </div>
  )
}

const formatUsage = ({ usage, durationMs }: TriedModel): string => {
  const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)
  const cost = formatCost(usage?.microusd ?? 0, usage?.isPriced ?? true, 'trace')
  return `${formatSpan(durationMs)}, ${formatPlural(tokens, 'token', 'tokens')}, ${cost}.`
}
