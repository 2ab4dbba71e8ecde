import type { FC } from 'hono/jsx'
import type { ModelsView } from '../../hub/models/models-view'
import type { ModelProviderSummary } from '../../mcp-servers/contract/model-admin'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem, FormState } from '../form/form-state'
import { AgentNames } from './agent-names'
import type { PriceField } from './price-form'
import { Prices } from './prices'
import { ProviderBlock } from './provider-block'
import type { TestShown } from './test-result'

export interface ModelsPageProps {
  view: ModelsView
  stored: ModelProviderSummary[]
  now: number
  problem: FormProblem | null
  /** The provider whose form was sent, with what was typed into it. */
  typed: { provider: string; fields: Record<string, string> } | null
  test: TestShown | null
  price: FormState<PriceField>
}

/** The model providers of this hub without their keys, which agents use them, and prices. */
export const ModelsPage: FC<ModelsPageProps> = (props) => {
  const { view, stored, typed, test } = props
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
      <Order view={view} />
      {view.providers.map((provider) => (
        <ProviderBlock
          now={props.now}
          state={provider}
          stored={stored.find((each) => each.provider === provider.provider) ?? null}
          typed={typed?.provider === provider.provider ? typed.fields : {}}
          test={test?.provider === provider.provider ? test : null}
        />
      ))}
      <Prices view={view} form={props.price} />
    </>
  )
}

const Order: FC<{ view: ModelsView }> = ({ view: { auto, offline } }) => (
  <section class="block">
    <h2>Used by default</h2>
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
        <AgentNames names={offline} />.
      </p>
    )}
  </section>
)
