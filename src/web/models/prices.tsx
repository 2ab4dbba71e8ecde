import type { FC } from 'hono/jsx'
import type { ModelPrice } from '../../agents/contract/agents'
import type { ModelsView } from '../../hub/models/models-view'
import { formatCount, formatMoney } from '../../shared/format'
import type { FormState } from '../form/form-state'
import { TableHead } from '../parts/table-head'
import { type PriceField, PriceForm } from './price-form'

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
    <a class="ul" href={`/models?price=${encodeURIComponent(model)}#set-price`}>
      Edit<span class="vh"> the price of {model}</span>
    </a>
    {isSetHere && (
      <>
        <input type="hidden" name="provider" value={provider} />
        <input type="hidden" name="model" value={model} />
        <button type="submit" class="btn">
          Reset<span class="vh"> the price of {model}</span>
        </button>
      </>
    )}
  </form>
)

const Price: FC<{ label: string; microusd: number }> = ({ label, microusd }) => (
  <td class="r num" data-l={label}>
    {formatMoney(microusd, 'thread')}
  </td>
)
