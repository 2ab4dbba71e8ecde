import type { FC } from 'hono/jsx'
import type { ModelPrice } from '../../agents/contract/agents'
import type { ProviderView } from '../../hub/models/models-view'
import { formatDollars, parseDollars } from '../form/dollars'
import { Field } from '../form/field'
import { createForm, describeText, type FormDefinition, type FormState } from '../form/form-state'

export type PriceField = 'provider' | 'model' | 'input' | 'cached' | 'output'
type PriceFormState = FormState<PriceField>

const dollars = {
  parse: parseDollars,
  message: 'Enter dollars per million tokens with a decimal point, such as 0.25.',
} as const

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
export const PriceForm: FC<{ form: PriceFormState; providers: ProviderView[] }> = ({
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
        <button type="submit" class="btn">
          Save price
        </button>
      </div>
    </form>
  </details>
)

const amounts = [
  ['input', 'Input'],
  ['cached', 'Cached input'],
  ['output', 'Output'],
] as const
