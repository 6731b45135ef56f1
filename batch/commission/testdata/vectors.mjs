// Computes vectors.json: what a consumer in JavaScript makes of payloads.
//   node vectors.mjs > vectors.json
// Each vector is [payload, divisor, what is stored], null if the consumer throws or the database refuses.

function calcularComissao({ valorCentavos, percentual }, divisor) {
  if (!Number.isInteger(valorCentavos) || typeof percentual !== 'number') {
    throw new Error('payload de pedido.pago invalido');
  }
  return Math.round((valorCentavos * percentual) / divisor);
}

function stored(payload, divisor) {
  try {
    const written = String(calcularComissao(JSON.parse(payload), divisor)); // what the driver sends
    if (!/^-?\d+$/.test(written)) return null;
    const n = BigInt(written);
    return BigInt.asIntN(64, n) === n ? n.toString() : null;
  } catch {
    return null;
  }
}

// mulberry32, for the same file each time.
let seed = 20261014;
function random() {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];

const payloads = [
  '{"valorCentavos":3000,"percentual":1.15}', '{"valorCentavos":5500,"percentual":0.7}',
  '{"valorCentavos":11000,"percentual":0.35}', '{"valorCentavos":-50,"percentual":5}',
  '{"valorCentavos":50,"percentual":5}', '{"valorCentavos":3000000000000,"percentual":5}',
  '{"valorCentavos":10.0,"percentual":5}', '{"valorCentavos":1e2,"percentual":5}',
  '{"valorCentavos":9007199254740993,"percentual":100}', '{"valorCentavos":"100","percentual":5}',
  '{"valorCentavos":100.5,"percentual":5}', '{"valorCentavos":null,"percentual":5}', '{"percentual":5}',
  '{"valorCentavos":1e400,"percentual":5}', '{"valorCentavos":100,"percentual":1e400}', '{"valorCentavos":0,"percentual":1e400}',
  '{"valorCentavos":100,"percentual":"5"}', '{"valorCentavos":100,"percentual":null}', '{"valorCentavos":100}',
  '{"valorCentavos":true,"percentual":5}', '{"valorCentavos":[100],"percentual":5}', '{"valorCentavos":100,"percentual":{}}',
  '{"ValorCentavos":100,"percentual":5}', '{"valorcentavos":100,"percentual":5}', '{"valorCentavos":100,"Percentual":5}',
  '{"valorCentavos":100,"percentual":5,"percentual":6}', '{"valorCentavos":"x","valorCentavos":100,"percentual":5}',
  '{"valorCent\\u0061vos":100,"percentual":5}', '{"pedido":{"valorCentavos":7,"percentual":7}}',
  '{"pedido":{"valorCentavos":7},"valorCentavos":100,"percentual":5}', '[]', '[{"valorCentavos":100,"percentual":5}]', 'null', '5', '"x"', '{}',
  '{"valorCentavos":1,"percentual":49.999999999999994}', '{"valorCentavos":1,"percentual":50}', '{"valorCentavos":-1,"percentual":50}',
  '{"valorCentavos":-1,"percentual":50.00000000000001}', '{"valorCentavos":-5,"percentual":50}', '{"valorCentavos":-250,"percentual":1}',
  '{"valorCentavos":-0,"percentual":5}', '{"valorCentavos":-0.0,"percentual":5}', '{"valorCentavos":100.00000000000000000001,"percentual":5}',
  '{"valorCentavos":1152921504606846976,"percentual":100}', '{"valorCentavos":9223372036854775807,"percentual":100}',
  '{"valorCentavos":9223372036854774784,"percentual":100}', '{"valorCentavos":-9223372036854775808,"percentual":100}',
  '{"valorCentavos":4503599627370497,"percentual":100}', '{"valorCentavos":4503599627370495,"percentual":50}',
  '{"valorCentavos":1e21,"percentual":1}', '{"valorCentavos":1e300,"percentual":1e-290}', '{"valorCentavos":5,"percentual":1e-400}',
];
for (let i = 0; i < 1500; i++) { // everyday ones, many of them at a half
  payloads.push(`{"valorCentavos":${below(pick([1e3, 1e5, 1e7, 1e9]))},"percentual":${(below(2000) / pick([1, 2, 4, 10, 20, 100])).toString()}}`);
}
for (let i = 0; i < 500; i++) { // decimals of all lengths, either sign
  const cents = pick(['', '-']) + below(10 ** (1 + below(15)));
  const share = pick(['', '-']) + below(100) + '.' + String(below(1e9)).slice(0, 1 + below(9));
  payloads.push(`{"valorCentavos":${cents},"percentual":${share}}`);
}
for (let i = 0; i < 500; i++) { // around halves: the share is n + 1/2 cents, give or take a unit in the last place
  const cents = 1 + below(1e6);
  const share = ((below(1e6) + 0.5) * 100 / cents) * (1 + (below(3) - 1) * Number.EPSILON);
  payloads.push(`{"valorCentavos":${cents},"percentual":${share}}`);
}
for (let i = 0; i < 500; i++) { // large ones, and other spellings
  const cents = pick([`${2n ** BigInt(40 + below(28)) + BigInt(below(100))}`, `${below(1e4)}e${below(18)}`, `${below(1e9)}.0`]);
  payloads.push(`{"valorCentavos":${cents},"percentual":${pick([1, 5, 12.5, 0.01, 99.99, 100, 1e-7, 1000])}}`);
}
const lines = payloads.map((p) => {
  const divisor = pick([100, 100, 100, 1000]);
  return JSON.stringify([p, divisor, stored(p, divisor)]);
});
console.log(`[\n${lines.join(',\n')}\n]`);
